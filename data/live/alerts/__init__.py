"""What watches live traffic: rules of alerts, their states, who is told, judging within a budget a day."""
