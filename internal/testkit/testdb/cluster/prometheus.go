package cluster

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed prometheus.sh
var prometheusScript string

// unpacked is where the packages lie that are unpacked and not installed.
func unpacked() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("taskkit-unpacked-%d", os.Geteuid()))
}

// prometheusPackages are the packages that have Prometheus.
var prometheusPackages = map[string][]string{"apt-get": {"prometheus"}, "dnf": {"golang-github-prometheus"}, "apk": {"prometheus"}, "brew": {"prometheus"}}

// ofPrometheus is a program of Prometheus. Debian's package would start a service when it is installed, and has many others
// with it that a server without pages does not need: it is unpacked instead.
func ofPrometheus(name string) *program {
	return &program{
		name: name, packages: prometheusPackages,
		dirs: func(context.Context) []string {
			return []string{filepath.Join(unpacked(), "usr", "bin"), "/usr/local/bin", "/opt/homebrew/bin"}
		},
		unpack: "prometheus",
	}
}

// StartPrometheus starts a new Prometheus server with this configuration, which may name the rules as rules.yml, as [StartRabbitMQ] starts a
// RabbitMQ. Its DSN is the address of its API.
func StartPrometheus(ctx context.Context, config, rules string) (*Server, error) {
	return startBroker(ctx, "Prometheus", ofPrometheus("prometheus"), func(path, dir, port string) (*Server, error) {
		s, err := keep(prometheusScript, dir, path, dir, port, config, rules)
		if err == nil {
			s.DSN = "http://" + net.JoinHostPort("127.0.0.1", port)
			s.reach = responds(s.DSN + "/-/ready")
		}
		return s, err
	})
}

// Promtool returns the path of promtool, which checks rules. Its error is a *[NotInstalledError] where it is not installed and cannot be.
func Promtool(ctx context.Context) (string, error) { return ofPrometheus("promtool").ensure(ctx) }

// responds returns a function that expects 200 from an address.
func responds(url string) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answer, err := client.Do(r)
		if err != nil {
			return err
		}
		if err := answer.Body.Close(); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, answer.Status)
		}
		return nil
	}
}

// unpacks reports whether the program is unpacked here rather than installed.
func (p program) unpacks() bool {
	_, err := exec.LookPath("dpkg")
	return p.unpack != "" && err == nil
}

// unpackDebian downloads a package of Debian and unpacks it.
func unpackDebian(ctx context.Context, name string) error {
	dir := filepath.Join(unpacked(), "download")
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // other users may run what is in it
		return err
	}
	download := exec.CommandContext(ctx, "apt-get", "-q", "download", name)
	download.Dir = dir
	if out, err := download.CombinedOutput(); err != nil {
		return fmt.Errorf("download the package %s: %w\n%s", name, err, out)
	}
	packages, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
	if err != nil || len(packages) == 0 {
		return errors.Join(err, errors.New("apt-get has downloaded no package "+name))
	}
	if out, err := exec.CommandContext(ctx, "dpkg", "-x", packages[len(packages)-1], unpacked()).CombinedOutput(); err != nil {
		return fmt.Errorf("unpack the package %s: %w\n%s", name, err, out)
	}
	return os.RemoveAll(dir)
}
