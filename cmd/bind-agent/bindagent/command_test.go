// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindagent

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func writeCertificate(t *testing.T, dir string) {
	t.Helper()
	template := pki.Serving("agent", []string{"localhost"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	pair := must.Get(pki.Issue(nil, template, time.Now(), time.Hour))(t)
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "tls.crt"), pair.CertPEM, 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "tls.key"), pair.KeyPEM, 0o600))
}

func readAuthority(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	text := must.Get(os.ReadFile(filepath.Join(dir, "tls.crt")))(t)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	return pool
}

// The command serves HTTPS, accepts a token, reloads certificate and key, and ends with the context (B2, B3, B4).
func TestCommand_serves(t *testing.T) {
	control := must.Get(rig.FreePort())(t)
	key := rig.TSIGKey{Name: "agent", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	named, err := rig.StartBIND(t.Context(), rig.BINDConfig{Controls: []rig.Control{{Addr: control, Key: key}}, Options: "allow-new-zones yes;\n"})
	rig.SkipMissing(t, err)
	defer named.Close()
	local := t.TempDir()
	writeCertificate(t, local)
	keyFile, tokenFile := filepath.Join(local, "rndc.key"), filepath.Join(local, "tokens")
	for path, text := range map[string]string{keyFile: key.Statement(), tokenFile: "a-token-of-the-file\n"} {
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	command := NewCommand()
	command.SetArgs([]string{
		"--listen", "127.0.0.1:0", "--tls-cert-file", local + "/tls.crt", "--tls-private-key-file", local + "/tls.key",
		"--token-file", tokenFile, "--rndc-server", control.String(), "--rndc-key-file", keyFile, "--dns-server", named.Addr.String(), "--zone-dir", named.Dir(),
	})
	out, in := io.Pipe()
	command.SetOut(in)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready: https://127.0.0.1:") {
		t.Fatalf("%q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	base := "https://localhost:" + strings.Fields(line[strings.LastIndex(line[:strings.Index(line, " before")], ":")+1:])[0] + "/api/v1"

	ask := func(path, token string) (code int, serial string) {
		t.Helper()
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: readAuthority(t, local)}}
		defer transport.CloseIdleConnections()
		request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil))(t)
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response := must.Get((&http.Client{Transport: transport}).Do(request))(t)
		defer response.Body.Close()
		return response.StatusCode, response.TLS.PeerCertificates[0].SerialNumber.String()
	}
	for _, tc := range []struct {
		path, token string
		want        int
	}{
		{"/ready", "", 200},
		{"/server/status", "", 401},
		{"/server/status", "another-token-of-a-file", 401},
		{"/server/status", "a-token-of-the-file", 200},
	} {
		if got, _ := ask(tc.path, tc.token); got != tc.want {
			t.Errorf("%+v: %d", tc, got)
		}
	}
	_, former := ask("/ready", "")
	writeCertificate(t, local)
	if got, serial := ask("/server/status", "a-token-of-the-file"); got != 200 || serial == former {
		t.Errorf("with a new certificate: %d, of serial %s", got, serial)
	}
	key.Secret = "YW5vdGhlciBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3Q="
	must.Succeed(t, os.WriteFile(keyFile, []byte(key.Statement()), 0o600))
	if got, _ := ask("/server/status", "a-token-of-the-file"); got != 503 {
		t.Errorf("with a key that named has not: %d", got)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// One error names the flag of each fault (B1, B5).
func TestOptions_areJudgedTogether(t *testing.T) {
	short := filepath.Join(t.TempDir(), "tokens")
	must.Succeed(t, os.WriteFile(short, []byte("short"), 0o600))
	command := NewCommand()
	command.SilenceErrors, command.SilenceUsage = true, true
	command.SetArgs([]string{
		"--listen", ":8080", "--tls-cert-file", "", "--tls-private-key-file", "x", "--rndc-server", "localhost:953", "--dns-server",
		"127.0.0.1",
		"--zone-dir", "relative", "--token-file", short,
	})
	err := command.ExecuteContext(t.Context())
	must.Say(t, err, `--listen: ":8080" is not a loopback address`, "--tls-cert-file and --tls-private-key-file:", `--rndc-server: "localhost:953"`,
		"--dns-server:",
		"--zone-dir:", "--rndc-key-file:", "--token-file:")
	command = NewCommand()
	command.SetArgs([]string{"--zone-dir", t.TempDir()})
	command.SilenceErrors, command.SilenceUsage = true, true
	if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "--token-file: is required") {
		t.Errorf("%v", err)
	}
}
