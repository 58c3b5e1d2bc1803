package taskkit

import "time"

// CleanEvery returns a configuration with which a worker removes old things so often.
func CleanEvery(c Config, d time.Duration) Config {
	c.cleanEvery = d
	return c
}

// MeasureEvery returns a configuration with which the rate of a task is stored so often.
func MeasureEvery(c Config, d time.Duration) Config {
	c.measureEvery = d
	return c
}

// ScheduleEvery returns a configuration with which a worker looks for schedules so often.
func ScheduleEvery(c Config, d time.Duration) Config {
	c.scheduleEvery = d
	return c
}
