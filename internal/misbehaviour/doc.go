// Package misbehaviour holds tests only: executors that do what no executor
// should, on both databases, through the public API.
//
// Each deed is done by one task in its second batch, in the middle of many
// healthy ones and of the other deeds, on one worker. What the documentation
// promises must happen to it; the healthy tasks go on as if nothing had been;
// and the oracle, which sees every change and every touch, finds no promise
// broken. In the long form they are all done again and again on one database.
package misbehaviour
