// Package fleet holds what processes of workers must do in time, while they are
// killed, stopped and started: how long a takeover takes, how long a request,
// and that an hour of work leaves no trace in memory and connections. And it lays
// siege to them: whatever happens to workers, network, server, pooler and disk,
// work goes on afterwards, and nothing is lost or done twice.
//
// It has tests only. The workers are processes of the test binary; what they do is
// watched by package oracle. Times are read from the database's clock, where
// something happens in it, and asserted in the long form alone
// ([taskkit.dev/internal/prove]): the short form asserts that it happens.
package fleet
