// Package taskops is for the programs of operators: dead letters, queues, concurrency
// limits, schedules, workers and the pruning of events. Make an [Operator] with [New].
//
// [SetSchedule] is for services: a program calls it at its start for each of its
// schedules.
package taskops
