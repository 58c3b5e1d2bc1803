// Package faultproxy stands between a PostgreSQL client and its server, counts
// the messages that pass, and does harm to one of them.
//
// It listens on loopback and passes the messages of the protocol one by one, in
// the bytes in which they came. Every message has a number, counted over all
// connections and both directions in the order in which the proxy took them up.
// A [Fault] names one message and what is to become of it: the connection is cut
// before the message arrives, or after the server has done what it asks for and
// before the answer arrives; or it is late, or everything on its connection is
// lost in silence, or a function of the caller's runs just before it arrives.
//
// What a network does, the proxy does: a message that is late still arrives,
// though its client has given up and gone; and a server learns that a client is
// gone when it next reads, not before.
//
// It speaks to one server with no TLS. A request for TLS or GSS is declined, as a
// server without either does. A request to cancel is passed on.
package faultproxy
