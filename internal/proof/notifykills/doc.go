// Package notifykills kills worker processes between the end of tasks and the delivery of their notifications, and checks that each
// notification is delivered all the same, with the id that it had at its first try.
package notifykills
