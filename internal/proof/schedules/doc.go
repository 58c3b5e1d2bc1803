// Package schedules lets schedulers fire for a simulated year, in time zones whose clocks are
// set forward and back, while workers are killed before, during and after the transaction of a
// fire. Each wall time must have one task.
//
// It has tests only. The clock of the database is the test's: on PostgreSQL and SQLite a
// function of the test stands in for the function that the store asks for the time. What is expected is
// computed from every minute of the year, as the clock of the zone shows it, and not by the
// code that the schedulers use.
package schedules
