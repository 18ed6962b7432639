"""What an engineer of GPU programs needs from a trace; computed only where the file holds the data (docs/metrics.md).

queue, copies, kernels, launch_costs      work outstanding, bandwidth, occupancy, cost of launches  (one file each)
step_costs, operator_costs, phase_times   steps by what kept them, operators, phases
scopes, flops, sequences, graphs          annotations and modules, rates of matrix operators, repeated kernels, graphs
counter_ranges                            hardware counters of ranges
_outstanding, _args, _peaks               shared: work outstanding, fields of arguments, peaks of devices
_launching_ops, _operator_kernels         shared: which operator launched which work
"""
