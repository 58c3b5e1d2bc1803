package browser_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// missingError reports what the tests need and cannot have here.
type missingError struct {
	what string
	err  error
}

func (e *missingError) Error() string {
	return fmt.Sprintf("the tests need %s, which is not installed and cannot be downloaded: %v", e.what, e.err)
}

func (e *missingError) Unwrap() error { return e.err }

// installed is a browser and what its process needs.
type installed struct {
	path string
	env  []string
}

// findChromium returns the chromium in the PATH, or one that is unpacked in the cache.
func findChromium(ctx context.Context) (installed, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return installed{path: path}, nil
		}
	}
	dir, err := cached("chromium", func(dir string) error { return unpackChromium(ctx, dir) })
	if err != nil {
		return installed{}, err
	}
	// Libraries of the system are found too; libpulse has a private one beside it.
	libraries, err := filepath.Glob(filepath.Join(dir, "usr", "lib", "*-linux-gnu*"))
	if err != nil {
		return installed{}, err
	}
	for _, l := range slices.Clone(libraries) {
		libraries = append(libraries, filepath.Join(l, "pulseaudio"))
	}
	return installed{
		path: filepath.Join(dir, "usr", "lib", "chromium", "chromium"),
		env:  []string{"LD_LIBRARY_PATH=" + strings.Join(libraries, ":"), "FONTCONFIG_FILE=" + filepath.Join(dir, "fonts.conf")},
	}, nil
}

// fonts are packages with fonts: text has the same width on every machine.
var fonts = []string{"fonts-dejavu-core", "fonts-liberation"}

// toInstall matches a package in what apt-get would do.
var toInstall = regexp.MustCompile(`(?m)^Inst (\S+)`)

// unpackChromium downloads chromium, the libraries that it needs and the system does not have, and fonts, and unpacks them.
func unpackChromium(ctx context.Context, dir string) error {
	for _, name := range []string{"apt-get", "dpkg"} {
		if _, err := exec.LookPath(name); err != nil {
			return &missingError{"chromium in the PATH, or apt-get and dpkg", err}
		}
	}
	plan, err := run(ctx, dir, "apt-get", "-s", "-q", "install", "--no-install-recommends", "chromium")
	if err != nil && os.Geteuid() == 0 {
		if _, err = run(ctx, dir, "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "update"); err == nil {
			plan, err = run(ctx, dir, "apt-get", "-s", "-q", "install", "--no-install-recommends", "chromium")
		}
	}
	if err != nil {
		return &missingError{"chromium", err}
	}
	packages := slices.Clone(fonts)
	for _, m := range toInstall.FindAllStringSubmatch(plan, -1) {
		if name, _, _ := strings.Cut(m[1], ":"); !slices.Contains(packages, name) {
			packages = append(packages, m[1])
		}
	}
	if _, err := run(ctx, dir, "apt-get", append([]string{"-q", "download"}, packages...)...); err != nil {
		return &missingError{"chromium", err}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := run(ctx, dir, "dpkg", "-x", f, dir); err != nil {
			return err
		}
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	config := `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir prefix="relative">usr/share/fonts</dir>
<cachedir>` + html.EscapeString(filepath.Join(dir, "fontcache")) + `</cachedir>
<alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>system-ui</family><prefer><family>DejaVu Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`
	return os.WriteFile(filepath.Join(dir, "fonts.conf"), []byte(config), 0o600)
}

const (
	axeVersion = "4.14.1"
	axeSHA256  = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"
)

// readAxe returns the script of axe-core.
func readAxe(ctx context.Context) (string, error) {
	if _, err := exec.LookPath("npm"); err != nil {
		return "", &missingError{"npm, to download axe-core", err}
	}
	dir, err := cached("axe-"+axeVersion, func(dir string) error {
		if _, err := run(ctx, dir, "npm", "pack", "--silent", "axe-core@"+axeVersion); err != nil {
			return &missingError{"axe-core of npm", err}
		}
		return unpackAxe(filepath.Join(dir, "axe-core-"+axeVersion+".tgz"), filepath.Join(dir, "axe.min.js"))
	})
	if err != nil {
		return "", err
	}
	script, err := os.ReadFile(filepath.Join(dir, "axe.min.js"))
	if err != nil {
		return "", err
	}
	if sum := sha256.Sum256(script); hex.EncodeToString(sum[:]) != axeSHA256 {
		return "", fmt.Errorf("the script of axe-core %s in %s has the SHA-256 %x, not %s", axeVersion, dir, sum, axeSHA256)
	}
	return string(script), nil
}

// unpackAxe takes the script out of the package of npm.
func unpackAxe(from, to string) error {
	packed, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	for files := tar.NewReader(unzipped); ; {
		h, err := files.Next()
		if err != nil {
			return fmt.Errorf("find axe.min.js in %s: %w", from, err)
		}
		if h.Name != "package/axe.min.js" {
			continue
		}
		script, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		return os.WriteFile(to, script, 0o600)
	}
}

// cached returns a directory of the user's cache that fill has filled, now or in an earlier run. It gets its name when it is complete, so
// that tests that fill it at once do not disturb each other.
func cached(name string, fill func(dir string) error) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "taskkit.dev")
	full := filepath.Join(all, name+"-"+runtime.GOARCH)
	if _, err := os.Stat(full); err == nil {
		return full, nil
	}
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(all, "filling-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := fill(dir); err != nil {
		return "", err
	}
	if err := os.Rename(dir, full); err != nil {
		if _, serr := os.Stat(full); serr != nil { // no other process was faster
			return "", err
		}
	}
	return full, nil
}

// run runs a command in a directory and returns its output.
func run(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w\n%s", name, strings.Join(args, " "), errors.Join(context.Cause(ctx), err), stderr.Bytes())
	}
	return out.String(), nil
}
