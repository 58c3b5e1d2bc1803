// Package cronline reads cron expressions and computes the wall times at which they fire,
// and the corresponding instants. It has no I/O but the database of time zones, and the
// present time is an argument.
//
// A wall time is a date and the time on a clock, to the minute. It is a [time.Time] in UTC.
// All matching is done on wall times; only then [Instant] finds the instant in the zone. So
// no rule of a zone can make a line skip a day or fire twice:
//
//   - A wall time that occurs twice, when clocks are set back, stands for the first of the
//     two instants.
//   - A wall time that does not occur, when clocks are set forward, stands for the first
//     instant after the gap. A line that fires in every hour has no such wall times: its
//     next one is less than an hour away.
//   - "@every" counts in UTC, which has no clock changes.
//
// The instants of ascending wall times never descend.
package cronline
