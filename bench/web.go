package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite"

	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit/taskhttp"
)

// webCommand is the second argument of a process that serves jobs over HTTP.
const webCommand = "web"

// webPath starts a job.
const webPath = "/tiny"

// webUsage is the usage that a server reports.
type webUsage struct {
	Queries int64 `json:"queries"` // and other statements, since it began
	RSS     int64 `json:"rss"`     // resident memory, in bytes
	InUse   int64 `json:"inUse"`   // heap and stacks after a garbage collection, in bytes
}

// webServer serves the jobs of a database over HTTP on its default Config. It prints its address, then
// for each line of its input a webUsage, and ends with its input.
//
//	bench worker web DSN
func webServer(ctx context.Context, dsn string, in io.Reader, out io.Writer) error {
	var queries atomic.Int64
	db, err := countedDB(dsn, &queries)
	if err != nil {
		return err
	}
	defer db.Close()
	jobs, err := taskhttp.New(db, taskhttp.Config{
		Caller: func(r *http.Request) (taskhttp.Caller, error) {
			id, err := uuid.Parse(r.Header.Get("Person"))
			return taskhttp.Caller{Owner: id}, err
		},
		Authorize: taskhttp.OwnJobs,
	})
	if err != nil {
		return err
	}
	taskhttp.Start(jobs, "POST "+webPath, tinytask.Kind)
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen for the benchmark's clients: %w", err)
	}
	server := &http.Server{Handler: jobs, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	fmt.Fprintln(out, l.Addr())
	for lines := bufio.NewScanner(in); lines.Scan(); {
		u := webUsage{Queries: queries.Load()}
		if u.RSS, err = residentMemory(); err != nil {
			return err
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		u.InUse = int64(m.HeapAlloc + m.StackInuse)
		if err := json.NewEncoder(out).Encode(u); err != nil {
			return err
		}
	}
	err = server.Close()
	<-ended
	return err
}

// residentMemory returns the resident memory of this process.
func residentMemory() (int64, error) {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read the memory of a process: %w", err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		return 0, fmt.Errorf("read the memory of a process: %w", err)
	}
	return resident * int64(os.Getpagesize()), nil
}

// countedDB opens a database of a DSN and counts the statements that are sent to it.
func countedDB(dsn string, n *atomic.Int64) (*sql.DB, error) {
	connector, err := connectorOf(dsn)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(&countedConnector{connector, n})
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxConns)
	return db, nil
}

// webProcess is a process that serves jobs.
type webProcess struct {
	*member
	address string
}

// startWeb starts a process that serves the jobs of a database.
func startWeb(ctx context.Context, k *kit) (*webProcess, error) {
	m, err := startMember(ctx, webCommand, k.source)
	if err != nil {
		return nil, err
	}
	w := &webProcess{member: m}
	if !w.out.Scan() {
		return nil, errors.Join(errors.New("a process that serves jobs did not say its address"), w.stop())
	}
	w.address = w.out.Text()
	return w, nil
}

// usage requests the usage of the process.
func (w *webProcess) usage() (u webUsage, err error) {
	if _, err := fmt.Fprintln(w.in); err != nil {
		return u, fmt.Errorf("ask a process that serves jobs: %w", err)
	}
	if !w.out.Scan() {
		return u, errors.New("a process that serves jobs does not answer")
	}
	return u, json.Unmarshal(w.out.Bytes(), &u)
}

// stop ends it.
func (w *webProcess) stop() error {
	return errors.Join(w.in.Close(), w.wait())
}

// connectorOf returns a connector for the database of a DSN.
func connectorOf(dsn string) (connector, error) {
	if strings.HasPrefix(dsn, "file:") {
		return &sqliteConnector{dsn, &sqlite.Driver{}}, nil
	}
	c, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the benchmark's DSN: %w", err)
	}
	return stdlib.GetConnector(*c), nil
}
