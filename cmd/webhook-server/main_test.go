// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

func writeFile(t *testing.T, file, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

const zoneText = "example.org. 3600 IN SOA ns.example.org. host.example.org. 7 3600 600 86400 300\nexample.org. 3600 IN NS ns.example.net.\n"

// W1.
func TestOptions_eachFaultNamesItsFlag(t *testing.T) {
	zone, secret := writeFile(t, "zone", zoneText), writeFile(t, "secret", "s")
	for _, c := range []struct {
		arguments []string
		want      []string
	}{
		{nil, []string{"--hmac-secret-file", "--rfc2136-server", "--zone-file"}},
		{[]string{"--hmac-secret-file", writeFile(t, "secret", ""), "--zone-file", "example.org=" + zone}, []string{"--hmac-secret-file",
			"empty"}},
		{[]string{"--hmac-secret-file", "/nonexistent", "--zone-file", "example.org=" + zone}, []string{"--hmac-secret-file"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone, "--rfc2136-server", "192.0.2.1"},
			[]string{"--rfc2136-server, --zone-file, --external-dns-url: give one"}},
		{[]string{"--hmac-secret-file", secret, "--rfc2136-server", "192.0.2.1"}, []string{"--tsig-key-file"}},
		{[]string{"--hmac-secret-file", secret, "--rfc2136-server", "192.0.2.1", "--tsig-key-file", "/nonexistent"}, []string{"--tsig-key-file"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone, "--tsig-key-file", "x"}, []string{"--tsig-key-file: goes with --rfc2136-server"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org", "--listen", "x", "--tls-cert-file", "y", "--hmac-algorithm", "MD5"}, []string{"MD5", "--zone-file", "ZONE=FILE", "--listen", "--tls-private-key-file"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=/nonexistent"}, []string{"--zone-file", "example.org."}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone + ",example.org.=" + zone}, []string{"already"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone, "--hmac-algorithm", "MD5", "--base-path", "dns"}, []string{"--hmac-algorithm", "MD5", "base path"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone, "--logging-format", "xml"}, []string{"--logging-format", "xml", "text or json"}},
		{[]string{"--hmac-secret-file", secret, "--external-dns-url", "127.0.0.1:8888"}, []string{"--external-dns-url", "http://"}},
		{[]string{"--hmac-secret-file", secret, "--external-dns-url", "http://127.0.0.1:8888", "--rfc2136-server", "192.0.2.1"},
			[]string{"--external-dns-url: give one"}},
		{[]string{"--hmac-secret-file", secret, "--zone-file", "example.org=" + zone, "--external-dns-plain-text"},
			[]string{"--external-dns-plain-text: goes with --external-dns-url"}},
		{[]string{"--hmac-secret-file", secret, "--external-dns-url", "http://127.0.0.1:8888", "--external-dns-types", "A,CAA"},
			[]string{"--external-dns-types", "external-dns has no form for CAA"}},
		{[]string{"--zone-fiel", zone}, []string{"--zone-fiel", "webhook-server --help"}},
		{[]string{"serve"}, []string{`"serve"`, "webhook-server --help"}},
	} {
		command := newCommand()
		command.SetArgs(c.arguments)
		err := command.Execute()
		if err == nil {
			t.Errorf("%v: taken", c.arguments)
			continue
		}
		for _, part := range c.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%v: %q does not say %q", c.arguments, err, part)
			}
		}
	}
}

// The page's arguments are valid, in a list for each cloud.
func TestPage_showsArgumentsOfTheProgram(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/providers-external-dns.md"))(t))
	containers := strings.Split(page, "image: webhook-server:")[1:]
	if len(containers) != 4 {
		t.Errorf("%d containers, want one for each of four clouds", len(containers))
	}
	for _, container := range containers {
		_, list, _ := strings.Cut(container, "args: [")
		list, _, _ = strings.Cut(list, "]")
		var arguments []string
		// Quoted commas belong to the argument.
		for at, part := range strings.Split(list, `"`) {
			if at%2 == 1 {
				arguments = append(arguments, part)
				continue
			}
			for _, argument := range strings.Split(part, ",") {
				if argument = strings.TrimSpace(argument); argument != "" {
					arguments = append(arguments, argument)
				}
			}
		}
		for at, argument := range arguments {
			if path, is := strings.CutPrefix(argument, "--hmac-secret-file="); is {
				arguments[at] = "--hmac-secret-file=" + writeFile(t, filepath.Base(path), "s")
			} else if _, is := strings.CutPrefix(argument, "--shared-notes-file="); is {
				arguments[at] = "--shared-notes-file=" + filepath.Join(t.TempDir(), "notes")
			}
		}
		flags, options := pflag.NewFlagSet("", pflag.ContinueOnError), newOptions()
		options.addFlags(flags)
		must.Succeed(t, flags.Parse(arguments))
		if server, err := options.makeServer(slog.New(slog.DiscardHandler)); err != nil || !strings.HasPrefix(server.target, "http://127") {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}

// W2, W3, W4: the command serves a class's provider and a zone file.
func TestRun_servesUntilItsContextEnds(t *testing.T) {
	zoneFile, secretFile := writeFile(t, "zone", zoneText), writeFile(t, "secret", "first")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	command, out := newCommand(), new(must.Output)
	command.SetOut(out)
	command.SetArgs([]string{"--listen", "127.0.0.1:0", "--hmac-secret-file", secretFile, "--hmac-algorithm", "SHA512", "--zone-file", "example.org=" + zoneFile, "--zone-check=", "--zone-reload=", "--base-path", "/dns"})
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	var url string
	for deadline := time.Now().Add(time.Minute); url == ""; time.Sleep(10 * time.Millisecond) {
		if line := out.String(); strings.HasPrefix(line, "ready: ") && strings.HasSuffix(line, "\n") {
			url = strings.Fields(line)[1]
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("not ready: %q", out)
		}
	}
	connect := func(secret string) *webhook.Provider {
		provider, err := webhook.New(webhook.Config{Server: url + "/dns", AllowLocalAddresses: true, HMAC: &webhook.HMAC{Algorithm: protocol.SHA512, Secret: []byte(secret)}})
		must.Succeed(t, err)
		t.Cleanup(func() { provider.Close() })
		return provider
	}
	provider := connect("first")
	must.Succeed(t, provider.Health(ctx))
	zone := name.MustParse("example.org.")
	set := delivery.RRset{Name: name.MustParse("www.example.org."), Type: rdata.A, TTL: 60, Data: []string{"192.0.2.1"}}
	plan := delivery.Plan{Zone: zone, Serial: 8, Since: 7, Changes: []delivery.Change{{Before: delivery.RRset{Name: set.Name, Type: set.Type}, After: set}}}
	if report, err := provider.Deliver(ctx, plan, func(context.Context) error { return nil }); err != nil || report.Confirmed != 8 || len(report.Failed) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if text, err := os.ReadFile(zoneFile); err != nil || !strings.Contains(string(text), "www.example.org.\t60\tIN\tA\t192.0.2.1\n") || !strings.Contains(string(text), " 8 3600 600") {
		t.Errorf("%s %v", text, err)
	}
	must.Succeed(t, os.WriteFile(secretFile, []byte("second"), 0o600))
	var refusal *delivery.Error
	if err := provider.Health(ctx); !errors.As(err, &refusal) || refusal.Reason != delivery.ReasonAuthenticationFailed {
		t.Errorf("the old secret: %v", err)
	}
	if err := connect("second").Health(ctx); err != nil {
		t.Errorf("the new secret: %v", err)
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
}

// A panic in a handler costs only that request, and is logged at the default level.
func TestRun_logsAPanic(t *testing.T) {
	log := new(must.Output)
	logger := must.Get(newLogger(log, 0, "text"))(t)
	server := &webhookServer{listen: "127.0.0.1:0", logger: logger, target: "nothing", handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a defect") })}
	ctx, cancel := context.WithCancel(t.Context())
	ready, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- server.run(ctx, out) }()
	line := make([]byte, 200)
	n := must.Get(ready.Read(line))(t)
	if _, err := http.Get(strings.Fields(string(line[:n]))[1]); err == nil {
		t.Error("a handler that panicked has answered")
	}
	cancel()
	if err := <-ended; err != nil || !strings.Contains(log.String(), "a defect") {
		t.Errorf("%v, log: %s", err, log)
	}
}
