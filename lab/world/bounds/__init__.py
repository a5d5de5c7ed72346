"""What has to be done within a time once nothing befalls anybody; a seed tries some of it.

A promise about time cannot be judged amid faults: whoever waits may wait for what was lost, or for
the end of a lease. So all is settled first; then one thing happens, and a clock runs.
"""
