package tasknotify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// The shortest and the longest secret, in bytes, by Standard Webhooks.
const minSecret, maxSecret = 24, 64

// secretPrefix begins a secret of Standard Webhooks.
const secretPrefix = "whsec_"

// maxSecrets is how many secrets sign a webhook: the present one, and another during a rotation.
const maxSecrets = 2

// decodeSecret returns the key of a secret, such as whsec_ and base64. The error has nothing of the secret.
func decodeSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	if !ok {
		return nil, fmt.Errorf("a secret does not begin with %s, after which it has the base64 of %d to %d random bytes", secretPrefix, minSecret, maxSecret)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	switch {
	case err != nil:
		return nil, errors.New("a secret is not base64 after " + secretPrefix)
	case len(key) < minSecret || len(key) > maxSecret:
		return nil, fmt.Errorf("a secret has %d bytes: use %d to %d random ones", len(key), minSecret, maxSecret)
	}
	return key, nil
}

// sign is the header webhook-signature: the signature by each key, separated by spaces.
func sign(keys [][]byte, id, timestamp string, body []byte) string {
	signatures := make([]string, len(keys))
	for i, key := range keys {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(id + "." + timestamp + "."))
		h.Write(body)
		signatures[i] = "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
	}
	return strings.Join(signatures, " ")
}
