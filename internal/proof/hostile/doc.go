// Package hostile has tests only: executors that do what no executor should, on
// both databases, through the public API.
//
// Each case is run by one task in its second batch, among many healthy tasks and
// the other cases, on one worker. The task must end as the documentation says, the
// healthy tasks must not be affected, and the oracle, which sees every change and
// every touch, must find no violation. In the long form the cases are repeated on
// one database.
package hostile
