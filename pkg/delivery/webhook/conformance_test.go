// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"kubi.zone/kubizone/cmd/webhook-server/masterfile"
	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

const secret = "a secret of both ends"

// files has a back end for each zone: the files of a back end are fixed at its start.
type files struct {
	dir string

	mu    sync.Mutex
	zones map[name.Name]*masterfile.Backend
}

func (f *files) pathOf(zone name.Name) string { return filepath.Join(f.dir, zone.String()+"zone") }

func (f *files) makeZone(t *testing.T, zone name.Name) {
	t.Helper()
	text := fmt.Sprintf("%[1]s 3600 IN SOA ns.%[1]s host.%[1]s 1 3600 600 86400 300\n%[1]s 3600 IN NS ns.example.net.\n", zone)
	must.Succeed(t, os.WriteFile(f.pathOf(zone), []byte(text), 0o600))
	backend := must.Get(masterfile.New(masterfile.Config{Files: map[name.Name]string{zone: f.pathOf(zone)}}))(t)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.zones[zone] = backend
}

func (f *files) backendOf(zone name.Name) *masterfile.Backend {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.zones[zone]
}

func (f *files) Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error {
	results := make([]error, len(sets))
	for i, set := range sets {
		switch backend := f.backendOf(zone); {
		case backend == nil:
			results[i] = server.UnknownZoneError(zone)
		case strings.HasPrefix(set.Name.String(), "poison."):
			results[i] = protocol.Refuse(protocol.CodeInvalidRecord, "no poison here")
		default:
			results[i] = backend.Apply(ctx, zone, sets[i:i+1])[0]
		}
	}
	return results
}

func (f *files) Read(ctx context.Context, zone, owner name.Name, t rdata.Type) (protocol.RRset, error) {
	if backend := f.backendOf(zone); backend != nil {
		return backend.Read(ctx, zone, owner, t)
	}
	return protocol.RRset{}, server.UnknownZoneError(zone)
}

func (f *files) Health(context.Context) error { return nil }

func (f *files) inspectZone(t *testing.T, zone name.Name) []delivery.RRset {
	t.Helper()
	return f.readZone(t, f.pathOf(zone))
}

func (*files) readZone(t *testing.T, path string) []delivery.RRset {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	defer file.Close()
	return deliverytest.ReadRRsets(t, file, name.Name{})
}

func serveUnextended(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/dns/v1/health":
			fmt.Fprint(w, `{"status":"healthy","timestamp":"2025-12-30T10:00:00Z"}`)
		case "/dns/v1/records/batch":
			http.NotFound(w, request)
		default:
			handler.ServeHTTP(w, request)
		}
	})
}

// Behind named-checkzone, a refused record fails alone, a record depending on a later record is retried, and a zone
// with in-zone name servers can be removed.
func TestProvider_deliversBesideWhatBINDRefuses(t *testing.T) {
	checkzone := rig.Need(rig.Find("named-checkzone", "hack/install-peers.sh"))(t)
	for _, extended := range []bool{true, false} {
		t.Run(fmt.Sprintf("extended %v", extended), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "zone")
			const empty = "example.com. 3600 IN SOA ns.provider.example. host.example.com. 1 3600 600 86400 300\nexample.com. 3600 IN NS ns.provider.example.\n"
			must.Succeed(t, os.WriteFile(path, []byte(empty), 0o600))
			backend := must.Get(masterfile.New(masterfile.Config{
				Files: map[name.Name]string{example: path}, Check: []string{checkzone, "-i", "local", "-k", "fail"},
			}))(t)
			handler := must.Get(server.New(server.Config{
				Backend: backend, Algorithm: protocol.SHA256, BasePath: "/dns/v1",
				Secrets: func() ([][]byte, error) { return [][]byte{[]byte(secret)}, nil },
			}))(t)
			if !extended {
				handler = serveUnextended(handler)
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			provider := connectProvider(t, server.URL+"/dns/v1", nil)
			whole := planOf(
				makeRRset("@", rdata.NS, "ns1.example.com."), makeRRset("@", rdata.MX, "10 mail.example.com."),
				makeRRset("_sip._tcp", rdata.SRV, "1 2 3 sip.example.com."),
				makeRRset("bad_host", rdata.A, "192.0.2.66"),
				makeRRset("mail", rdata.A, "192.0.2.25"), makeRRset("ns1", rdata.A, "192.0.2.53"), makeRRset("sip", rdata.A, "192.0.2.60"),
				makeRRset("www", rdata.A, "192.0.2.80"),
			)
			whole.Changes, whole.Since = nil, 0
			report, err := provider.Deliver(t.Context(), whole, passFence)
			if want := []string{"bad_host ValidationFailed"}; err != nil || !slices.Equal(failedNames(report), want) || report.Confirmed != whole.Serial {
				t.Fatalf("%q, %v", failedNames(report), err)
			}
			text, err := os.ReadFile(path)
			if err != nil || strings.Count(string(text), "\n") != 8 || strings.Contains(string(text), "bad_host") {
				t.Fatalf("%s %v", text, err)
			}
			withdrawal := whole
			withdrawal.Since, withdrawal.Changes, withdrawal.Uncertain = whole.Serial, []delivery.Change{}, true
			report, err = provider.Remove(t.Context(), withdrawal, passFence)
			if err != nil || len(report.Failed) > 0 || report.Confirmed != whole.Serial {
				t.Fatalf("%+v, %v", report, err)
			}
			var left []string
			for _, one := range (&files{dir: filepath.Dir(path)}).readZone(t, path) {
				left = append(left, one.Name.String()+" "+one.Type.String())
			}
			slices.Sort(left)
			if want := []string{"example.com. NS", "example.com. SOA", "ns1.example.com. A"}; !slices.Equal(left, want) {
				t.Errorf("%q stands after the withdrawal, want %q", left, want)
			}
		})
	}
}

// The server is the reference server, with and without its extensions.
func TestProvider_passesTheExam(t *testing.T) {
	for _, algorithm := range []protocol.Algorithm{protocol.SHA256, protocol.SHA512} {
		extended := algorithm == protocol.SHA256
		t.Run(fmt.Sprintf("%s extended %v", algorithm, extended), func(t *testing.T) {
			backend := &files{dir: t.TempDir(), zones: map[name.Name]*masterfile.Backend{}}
			handler := must.Get(server.New(server.Config{
				Backend: backend, Algorithm: algorithm, BasePath: "/dns/v1",
				Secrets: func() ([][]byte, error) { return [][]byte{[]byte(secret)}, nil },
			}))(t)
			var unsupported func(delivery.RRset) bool
			if !extended {
				handler = serveUnextended(handler)
				unsupported = func(set delivery.RRset) bool {
					// Two MX preferences; octets that are not UTF-8.
					return set.Type == rdata.MX || set.Name.Labels()[0] == "control"
				}
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			var zones atomic.Int64
			deliverytest.Run(t, deliverytest.Subject{
				New: func(t *testing.T) delivery.Provider {
					return must.Get(webhook.New(webhook.Config{
						Server: server.URL + "/dns/v1/", AllowLocalAddresses: true,
						HMAC: &webhook.HMAC{Algorithm: algorithm, Secret: []byte(secret)},
					}))(t)
				},
				Zone: func(t *testing.T) name.Name {
					zone := name.MustParse(fmt.Sprintf("zone%d.example.", zones.Add(1)))
					backend.makeZone(t, zone)
					return zone
				},
				Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
					sets := backend.inspectZone(t, zone)
					if !extended {
						// The plain protocol joins character strings, and changes nothing else.
						for i, set := range sets {
							for j, data := range set.Data {
								if data == `"twostrings"` {
									sets[i].Data[j] = `"two" "strings"`
								}
							}
						}
					}
					return sets
				},
				Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
					must.Succeed(t, backend.backendOf(zone).Apply(context.Background(), zone,
						[]protocol.RRset{{Zone: zone, Name: set.Name, Type: set.Type, TTL: set.TTL, Data: set.Data}})[0])
				},
				Refused:     "poison",
				Unsupported: unsupported,
			})
		})
	}
}
