// Package chaos checks what worker processes must do in time while they are killed,
// stopped and started: how long a takeover takes, how long a request takes, and
// that hours of work leak neither memory nor connections. Its scenarios inject
// faults into workers, network, server, pooler and disk: afterwards work goes on,
// and nothing is lost or done twice.
//
// It has tests only. The workers are processes of the test binary; package oracle
// checks what they do. Times are read from the database's clock where something
// happens in the database, and are asserted in the long form alone
// ([taskkit.dev/internal/proof/prove]). The short form asserts that it happens.
package chaos
