// Package httploop checks the loop of the client protocol over HTTP (start with a key,
// await, fetch, delete) while the server process, the worker process, the connections
// of both to the database and the PostgreSQL server itself are killed at random moments: each
// result is right, and one key starts one task.
//
// It has tests only. Server and workers are processes of the test binary.
package httploop
