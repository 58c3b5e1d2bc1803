package main

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskhttp"

	"example.com/campus/gen/setstatustask"
)

// registrar makes all requests, since nobody signs in here.
var registrar = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")

// whoCalls returns who makes a request. In your application it is the person who has signed in.
func whoCalls(*http.Request) (taskhttp.Caller, error) {
	return taskhttp.Caller{Owner: registrar}, nil
}

// serve serves jobs over HTTP until ctx ends. Other machines must not reach the address, since
// every request counts as made by the registrar.
func serve(ctx context.Context, db *sql.DB, out io.Writer, address string) error {
	jobs, err := taskhttp.New(db, taskhttp.Config{Caller: whoCalls, Authorize: taskhttp.OwnJobs})
	if err != nil {
		return err
	}
	taskhttp.Start(jobs, "POST /students/status", setstatustask.Kind)

	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: jobs, ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(jobs.Drain) // requests that wait are answered at once
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Fprintf(out, "serving http://%s\n", l.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(limited)
}
