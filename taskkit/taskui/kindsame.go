package taskui

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"

	"taskkit.dev/internal/specform"
)

// sameView is how to do without the dashboard what its button does.
type sameView struct {
	Command string // of taskkit
	Curl    string
	File    bool // they read the spec from spec.json
}

// maxFlags is how long a command line with a flag for each field may be.
const maxFlags = 1000

// same returns the command and the request that start the same task. Secrets are variables of the shell.
func same(r *request, k *startable, values specform.Values, draft []byte) (v sameView) {
	command := []string{"taskkit", "run", k.info.Name}
	for f := range k.form.All() {
		for _, value := range values[f.Name] {
			command = append(command, shellQuote("--"+f.Flag()+"="+value))
		}
	}
	secrets := secretFields(k.form.Fields)
	for _, f := range secrets {
		if f.Required {
			command = append(command, `--`+f.Flag()+`="$`+variable(f.Name)+`"`)
		}
	}
	v.Command = strings.Join(command, " ")
	if v.File = len(v.Command) > maxFlags || len(values[specform.Root]) > 0 || clean(v.Command) != v.Command; v.File {
		v.Command = "taskkit run " + k.info.Name + " --file spec.json"
	}
	spec := "f..=<spec.json"
	if !v.File {
		spec = "f..=" + readable(draft)
	}
	request := []string{"curl", "--fail", "--form-string", "step=run", "--form-string", `"key=$(uuidgen)"`, "--form-string", shellQuote(spec)}
	if v.File {
		request[len(request)-2] = "--form"
	}
	for _, f := range secrets {
		if f.Required {
			request = append(request, "--form-string", `"`+fieldPrefix+f.Name+"=$"+variable(f.Name)+`"`)
		}
	}
	v.Curl = strings.Join(append(request, shellQuote(address(r))), " ")
	return v
}

// readable returns JSON with escapes for characters that cannot be seen or change the direction of the text around them.
func readable(doc []byte) string {
	var b strings.Builder
	for _, c := range string(doc) {
		if unicode.IsPrint(c) {
			b.WriteRune(c)
			continue
		}
		for _, half := range utf16.Encode([]rune{c}) {
			fmt.Fprintf(&b, `\u%04x`, half)
		}
	}
	return b.String()
}

// address returns the address of the page, as the browser has it.
func address(r *request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return scheme + "://" + r.Host + path
}

// variable returns the name of a variable of the shell for a field.
func variable(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, strings.ToUpper(name))
}

// shellQuote quotes a text for a POSIX shell, if that is needed.
func shellQuote(s string) string {
	plain := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-_./=:,@+", c)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
