package chaos_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"taskkit.dev/internal/testkit/testdb"
)

// The toxics of the network, as the proxy reads them.
const (
	// What is sent is lost. When the fault is over the connection ends, as one does
	// that has lost something.
	lost = `{"type": "timeout", "attributes": {"timeout": 0}}`
	// What is sent arrives when the fault is over, however late.
	late = `{"type": "latency", "attributes": {"latency": 3600000}}`
	// A network far away, and a busy one.
	far = `{"type": "latency", "attributes": {"latency": 60, "jitter": 60}}`
	// 8 kB a second.
	narrow = `{"type": "bandwidth", "attributes": {"rate": 8}}`
	reset  = `{"type": "reset_peer", "attributes": {"timeout": 0}}`
)

// The directions: to the server, and to the client.
const (
	up   = "upstream"
	down = "downstream"
)

// networks are the scenarios of the network.
func networks() []scenarioType {
	return []scenarioType{
		onNetwork("network-silent", false, func(n *network) {
			n.inject("requests are lost", lost, up)
			n.inject("answers are lost", lost, down)
			n.inject("both are lost", lost, up, down)
		}),
		onNetwork("network-late", false, func(n *network) {
			n.inject("requests are late", late, up)
			n.inject("answers are late", late, down)
			n.inject("both are late", late, up, down)
		}),
		onNetwork("network-slow", false, func(n *network) {
			n.inject("far away", far, up, down)
			n.inject("narrow", narrow, up, down)
		}),
		onNetwork("network-cut", true, func(n *network) {
			n.inject("reset", reset, up, down)
			n.refuse()
		}),
	}
}

// network is the ways of two workers and a client to PostgreSQL. A third worker
// and the oracle have another.
type network struct {
	*scenario
	gates []*gate
}

// onNetwork is a scenario whose faults are the network's.
func onNetwork(name string, everyday bool, round func(*network)) scenarioType {
	return scenarioType{name, everyday, func(t *testing.T, seed uint64) (*scenario, func()) {
		t.Helper()
		db := testdb.Postgres(t)
		n := &network{scenario: setUp(t, db, seed)}
		for range 3 {
			n.gates = append(n.gates, n.gate())
		}
		for _, g := range n.gates[:2] {
			n.startWorkers(1, func(a *workerArgs) { a.DSN = g.dsn })
		}
		n.startWorkers(1)
		n.clientDB = openedAt(t, n.gates[2].dsn)
		return n.scenario, func() { round(n) }
	}}
}

// chosen are one worker's way, or all ways.
func (n *network) chosen() []*gate {
	if i := n.rng.IntN(len(n.gates)); i > 0 {
		return n.gates[i-1 : i]
	}
	return n.gates
}

// inject puts a toxic into each of these directions, and takes it out again.
func (n *network) inject(what, toxic string, directions ...string) {
	n.Helper()
	gates := n.chosen()
	for _, g := range gates {
		for _, d := range directions {
			g.addToxic(toxic, d)
		}
	}
	n.keepFault(what)
	for _, g := range gates {
		g.removeToxics()
	}
	n.progress()
}

// refuse ends all connections and accepts none.
func (n *network) refuse() {
	n.Helper()
	gates := n.chosen()
	for _, g := range gates {
		g.proxy.Stop()
	}
	n.keepFault("refused")
	for _, g := range gates {
		g.open()
	}
	n.progress()
}

// gate is a proxy before PostgreSQL.
type gate struct {
	s              *scenario
	server         *toxiproxy.ApiServer
	proxy          *toxiproxy.Proxy
	listen, behind string
	dsn            string
}

// gate opens a proxy. It is closed when the test ends.
func (s *scenario) gate() *gate {
	s.Helper()
	u, err := url.Parse(s.args.DSN)
	if err != nil {
		s.Fatal(err)
	}
	g := &gate{
		s: s, server: toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop()),
		listen: "127.0.0.1:0", behind: u.Host,
	}
	g.open()
	u.Host = g.listen
	g.dsn = u.String()
	s.Cleanup(func() { g.proxy.Stop() })
	return g
}

// open lets connections in, always at the same address.
func (g *gate) open() {
	g.s.Helper()
	g.proxy = toxiproxy.NewProxy(g.server, "gate", g.listen, g.behind)
	if err := g.proxy.Start(); err != nil {
		g.s.Fatalf("open the proxy at %s: %v", g.listen, err)
	}
	g.listen = g.proxy.Listen
}

// addToxic adds a toxic to one direction.
func (g *gate) addToxic(toxic, direction string) {
	g.s.Helper()
	toxic = fmt.Sprintf(`{"name": %q, "stream": %q, %s`, direction, direction, strings.TrimPrefix(toxic, "{"))
	if err := g.within(func() error {
		_, err := g.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
		return err
	}); err != nil {
		g.s.Fatalf("add the toxic %s: %v", toxic, err)
	}
}

// removeToxics removes all toxics. The proxy can wait for ever for a connection
// whose client has gone meanwhile; then it is replaced.
func (g *gate) removeToxics() {
	g.s.Helper()
	if err := g.within(func() error {
		g.proxy.Toxics.ResetToxics(context.Background())
		return nil
	}); err != nil {
		g.s.Logf("remove the toxics: %v; the proxy is replaced", err)
		g.proxy.Stop()
		g.open()
	}
}

// within runs f, which may never return, for some seconds.
func (g *gate) within(f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(5 * time.Second):
		return &net.OpError{Op: "wait for", Net: "tcp", Err: context.DeadlineExceeded}
	}
}
