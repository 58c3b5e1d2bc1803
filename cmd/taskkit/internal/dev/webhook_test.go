package dev

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A worker process gets the webhook as it was given, with each format of the body.
func TestWebhookSettings(t *testing.T) {
	t.Parallel()
	for body := range Bodies {
		sent := settings{Webhook: &Webhook{
			Target: "ops", URL: "http://127.0.0.1:9000", Secrets: []string{"whsec_x"}, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Body: body,
		}}
		text, err := json.Marshal(sent)
		if err != nil {
			t.Fatalf("body %s: %v", body, err)
		}
		var got settings
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, sent) {
			t.Errorf("body %s: a worker gets %+v, %v", body, got.Webhook, err)
		}
	}
}

// What is wrong with a webhook is said in the words of the command, without the address, which may have a secret.
func TestWebhookRefused(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t).DB
	secret := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	for want, w := range map[string]*Webhook{
		"or http with --webhook-allow":                        {URL: "http://ops.example/path", Secrets: secret},
		SecretEnv + " has no secret":                          {URL: "https://ops.example/path"},
		SecretEnv + ": a secret has 5 bytes":                  {URL: "https://ops.example/path", Secrets: []string{"whsec_aGFsbG8="}},
		"name it in --webhook-allow if the receiver is there": {URL: "https://10.0.0.1/path", Secrets: secret},
		"--webhook is no URL":                                 {URL: "ht!tp://path", Secrets: secret},
	} {
		w.Target = "ops"
		err := w.Register(new(taskkit.Registry), db, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Webhook.") || strings.Contains(err.Error(), "path") {
			t.Errorf("the error is %q, want %q", err, want)
		}
	}
}
