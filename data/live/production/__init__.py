"""What the page Production shows: facts of all calls, scores of the kept ones, before and since."""
