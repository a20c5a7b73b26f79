"""The Diagnosis page: metric patterns, failure stages, symptoms, and the oracle gap."""
