# The dashboard of ragtriage over a workspace in a volume: see docs/docker.md.
FROM python:3.12-slim AS build
ARG EXTRAS=mcp
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY ragtriage ragtriage
COPY dashboard dashboard
COPY data data
COPY metrics metrics
RUN python -m venv /opt/ragtriage \
    && /opt/ragtriage/bin/python -m pip install --no-cache-dir --disable-pip-version-check \
       --constraint constraints.txt ".[${EXTRAS}]"

FROM python:3.12-slim
RUN useradd --uid 10001 --create-home ragtriage \
    && install -d -m 700 -o ragtriage -g ragtriage /workspace
COPY --from=build /opt/ragtriage /opt/ragtriage
ENV PATH=/opt/ragtriage/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    RAGTRIAGE_WORKSPACE=/workspace
USER 10001
WORKDIR /home/ragtriage
VOLUME /workspace
EXPOSE 8501
STOPSIGNAL SIGINT
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4)"]
ENTRYPOINT ["ragtriage"]
CMD ["serve", "--host", "0.0.0.0", "--expose", "--port", "8501"]
