"""A limit in USD that a job cannot pass: what is in flight counts at the most it can cost."""

from __future__ import annotations

import asyncio

from data.judge_calls import Request, Usage
from data.judge_messages import reply_limit
from data.model_prices import Model

__all__ = ["Budget", "most_cost"]

BYTES_A_TOKEN = 2  # fewer than any language has
SENDS = 2  # a reply that does not fit the form is asked for once more


def most_cost(request: Request, model: Model) -> float:
    """Give the most that a request can cost in USD, mending included; 0 without a price."""
    text = len(request.system.encode()) + len(request.user.encode())
    reply = reply_limit(request, model)
    usage = Usage(output_tokens=reply, cache_write_tokens=text // BYTES_A_TOKEN + reply)
    return SENDS * (model.cost(usage) or 0.0)


class Budget:
    """Lets requests pass while the spent and the reserved stay within the limit."""

    def __init__(self, limit: float | None) -> None:
        self.limit = limit
        self.spent = 0.0
        self._reserved = 0.0
        self._settled = asyncio.Condition()

    async def reserve(self, amount: float) -> bool:
        """Set an amount aside; waits for what is in flight where it must. False where it cannot be had."""
        async with self._settled:
            while self.limit is not None and self.spent + self._reserved + amount > self.limit:
                if self._reserved <= 0:
                    return False
                await self._settled.wait()
            self._reserved += amount
            return True

    async def settle(self, amount: float, cost: float) -> None:
        """Replace an amount set aside by what was really spent."""
        async with self._settled:
            self._reserved = max(self._reserved - amount, 0.0)
            if self._reserved < 1e-12:
                self._reserved = 0.0
            self.spent += cost
            self._settled.notify_all()
