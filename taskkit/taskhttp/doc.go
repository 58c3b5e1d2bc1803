// Package taskhttp lets clients start, watch, fetch, stop and delete tasks over HTTP.
//
// A [Server] serves the jobs of a database below /jobs. [Start] gives a kind a path of
// the application's own, on which a POST submits a task; there is no path that starts
// any kind. A job is a task as clients may see it: a type of its own, without spec,
// state, error detail or secrets. A [Client] does the same calls from Go, and [Await]
// the whole of them.
//
// Every answer that is not a success is a problem document (RFC 9457), an [Error].
// The page docs/http-protocol.md lists calls and problems.
package taskhttp
