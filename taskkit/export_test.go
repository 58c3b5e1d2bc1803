package taskkit

import "time"

// MeasureEvery returns a configuration with which the rate of a task is stored so often.
func MeasureEvery(c Config, d time.Duration) Config {
	c.measureEvery = d
	return c
}
