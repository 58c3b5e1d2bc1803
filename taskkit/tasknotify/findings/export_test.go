package findings

import "taskkit.dev/taskkit"

// NewExecutor returns the executor that Register registers.
func NewExecutor(c Config) (taskkit.Executor[Spec, struct{}], error) { return newExecutor(c) }
