package program

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/cmd/taskkit/internal/metrics"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhealth"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskui"
)

// Timeouts of the server. Those of a watch are its own.
const (
	serveHeaderTimeout = 10 * time.Second
	serveTimeout       = time.Minute
	serveShutdown      = 10 * time.Second
)

func (p *program) serveCommand() *cobra.Command {
	var listen, header string
	var hosts, queues, admins []string
	var ui bool
	var hook webhookFlags
	c := &cobra.Command{
		Use:   "serve [--person-header NAME] [--ui]",
		Short: "Serve the jobs of the database, or a dashboard, over HTTP",
		Long: `Serve the jobs of the database over HTTP: watch, fetch, stop, pause, resume, approve,
retry, delete and list. It starts no jobs, since kinds belong to the application.
/metrics has the figures of the queues for Prometheus, without a person.

The command trusts a header with the UUID of the person who makes a request. A proxy on
this machine must sign people in and set the header; all people have access to their own
jobs only. So the command listens on addresses of this machine alone, and answers requests
to this machine: a browser on it could otherwise be led here by another name. If the proxy
passes on the name under which it is reached, give that name with --host.

GET /livez and GET /readyz answer probes without the header, and are not logged.

With --ui it also serves the dashboard, below /tasks/. There people see and operate their
own jobs, and those with --admin all of them. Without --person-header only the dashboard is
served, with all rights, to browsers of this machine: not behind a proxy.

With --webhook it also delivers the notifications of that target: it is then a worker, which
executes nothing else and needs the rights of one. With --findings it runs the doctor too.`,
		Example: `  taskkit serve --ui
  taskkit serve --person-header X-Person
  taskkit serve --person-header X-Person --ui --admin 01890a5d-ac96-774b-bcce-b302099a8057
  taskkit serve --person-header X-Person --webhook https://ops.example/hooks --webhook-target ops
  taskkit serve --listen 127.0.0.1:9000 --person-header X-Person`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if header == "" && !ui {
				return command.Usage("--person-header is missing: name the header that says who makes a request")
			}
			operators, err := people(admins)
			switch {
			case err != nil:
				return err
			case admins != nil && (header == "" || !ui):
				return command.Usage("--admin needs --ui and --person-header: it names people who have all rights in the dashboard")
			}
			if header != "" && (!headerName.MatchString(header) || strings.EqualFold(header, "Host")) {
				return command.Usage("--person-header accepts the name of a header like X-Person, not %q", header)
			}
			if err := checkLoopback(listen); err != nil {
				return err
			}
			to, err := hook.webhook()
			if err != nil {
				return err
			}
			if to == nil && c.Flags().Changed("queue") {
				return command.Usage("--queue needs --webhook: it names the queues whose notifications are delivered")
			}
			db, err := p.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			log := slog.New(slog.NewTextHandler(p.Err(), nil))
			mux, drain := http.NewServeMux(), func() {}
			var served []string
			if header != "" {
				jobs, err := taskhttp.New(db.DB, taskhttp.Config{
					Caller: personIn(header), Authorize: taskhttp.OwnJobs, Schema: p.Schema(),
					Logger: log,
				})
				if err != nil {
					return err
				}
				mux.Handle("/", jobs)
				drain, served = jobs.Drain, append(served, "/jobs")
			}
			if ui {
				c := taskui.Config{Logger: log}
				if header != "" {
					c.Access = personOf(header, operators)
				}
				dashboard, err := taskui.New(taskkit.NewClient(db.DB, taskkit.WithSchema(p.Schema())), nil, c)
				if err != nil {
					return err
				}
				mux.Handle("/tasks/", dashboard)
				served = append(served, "/tasks/")
			}
			all, telemetry, unread, err := metrics.Serve(c.Context(), db.DB, p.Schema(), log, mux)
			if err != nil {
				return err
			}
			defer unread()
			all = taskhealth.Beside(all, db.DB, taskhealth.Options{Schema: p.Schema()})
			if to == nil {
				return p.serve(c.Context(), listen, served, onlyHosts(hosts, all), drain)
			}
			ctx, end := context.WithCancel(c.Context())
			defer end()
			ended, err := p.deliver(ctx, db.DB, to, queues, hook.findings, telemetry)
			if err != nil {
				return err
			}
			err = p.serve(ctx, listen, served, onlyHosts(hosts, all), drain)
			end()
			return errors.Join(err, ended())
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "`address` of this machine to listen on")
	c.Flags().StringSliceVar(&hosts, "host", nil, "further `name` of a Host header to answer")
	c.Flags().BoolVar(&ui, "ui", false, "serve the dashboard too")
	c.Flags().StringSliceVar(&admins, "admin", nil, "`uuid` of a person who has all rights in the dashboard")
	c.Flags().StringVar(&header, "person-header", "", "`name` of the header with the UUID of the person")
	c.Flags().StringSliceVar(&queues, "queue", []string{"default"}, "`name` of a queue whose notifications are delivered")
	hook.add(c)
	c.Flags().DurationVar(&hook.findings, "findings", 0, "run the doctor at this `interval`, and notify the target of findings that open or are over")
	return c
}

// headerName matches the name of a header (RFC 9110). Go takes Host away from the headers of a request.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// checkLoopback refuses addresses that other machines can reach.
func checkLoopback(listen string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return command.Usage("--listen accepts an address like 127.0.0.1:8080, not %q", listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return command.Usage("--listen accepts an address of this machine alone, like 127.0.0.1:8080, not %q: who can reach it can be anybody", listen)
	}
	return nil
}

// onlyHosts answers requests whose Host is this machine or one of these names, and no others: a page of another site, whose
// name leads to this machine, would make them with the rights of the browser's user.
func onlyHosts(hosts []string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.Trim(host, "[]")
		known := func(name string) bool { return strings.EqualFold(name, host) }
		if ip := net.ParseIP(host); (ip == nil || !ip.IsLoopback()) && !known("localhost") && !slices.ContainsFunc(hosts, known) {
			unknownHost(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// unknownHost sends the problem document of a request to another host.
func unknownHost(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(http.StatusMisdirectedRequest)
	fmt.Fprintf(w, `{"type":"https://taskkit.dev/problems/unknown-host","title":"The request is to another host","status":%d,"detail":"start the server with --host to answer this Host"}`+"\n",
		http.StatusMisdirectedRequest)
}

// personIn takes a header for the person who makes a request.
func personIn(header string) func(*http.Request) (taskhttp.Caller, error) {
	return func(r *http.Request) (taskhttp.Caller, error) {
		values := r.Header.Values(header)
		if len(values) != 1 {
			return taskhttp.Caller{}, fmt.Errorf("%d headers %s, want 1", len(values), header)
		}
		person, err := uuid.Parse(values[0])
		if err != nil {
			return taskhttp.Caller{}, fmt.Errorf("the header %s is not a UUID", header)
		}
		return taskhttp.Caller{Owner: person}, nil
	}
}

// personOf takes a header for the person who uses the dashboard. People see their own tasks, and admins all.
func personOf(header string, admins []uuid.UUID) func(*http.Request) (taskui.Person, error) {
	identify := personIn(header)
	return func(r *http.Request) (taskui.Person, error) {
		who, err := identify(r)
		if err != nil {
			return taskui.Person{}, err
		}
		if slices.Contains(admins, who.Owner) {
			return taskui.Person{ID: who.Owner, Level: taskui.Admin}, nil
		}
		return taskui.Person{ID: who.Owner, Level: taskui.Operate, Own: true}, nil
	}
}

// people parses the ids of people.
func people(ids []string) ([]uuid.UUID, error) {
	all := make([]uuid.UUID, len(ids))
	for i, text := range ids {
		var err error
		if all[i], err = uuid.Parse(text); err != nil || all[i] == uuid.Nil {
			return nil, command.Usage("--admin accepts the UUID of a person, not %q", text)
		}
	}
	return all, nil
}

// serve serves requests until ctx ends. Then it answers what is served and returns nil. It prints the addresses of what is served below the paths.
func (p *program) serve(ctx context.Context, listen string, paths []string, all http.Handler, drain func()) error {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	server := &http.Server{Handler: all, ReadHeaderTimeout: serveHeaderTimeout, ReadTimeout: serveTimeout, WriteTimeout: serveTimeout}
	server.RegisterOnShutdown(drain)
	for _, path := range paths {
		fmt.Fprintf(p.Err(), "serving http://%s%s\n", l.Addr(), path)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", listen, err)
	case <-ctx.Done():
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), serveShutdown)
	defer cancel()
	if err := server.Shutdown(limited); err != nil {
		return fmt.Errorf("end what is served: %w", err)
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
