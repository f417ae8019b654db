// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// runFsck: clean also means that nothing is owed.
func (w *world) runFsck(ctx context.Context, e *etcd) (message string, clean, settled bool) {
	out, err := exec.CommandContext(ctx, w.program, append([]string{"fsck", "--etcd-servers", e.listEndpoints()},
		e.access...)...).CombinedOutput()
	message = strings.TrimSpace(string(out))
	return message, err == nil, err == nil && strings.HasSuffix(message, "clean; no work is pending")
}

// checkAll ends the load and checks the store, the records against acknowledged writes (H1), and servers and a
// primary against each other and the zone's hash (H3).
func (w *world) checkAll(ctx context.Context, t *testing.T, l *load, e *etcd, servers ...*replica) {
	t.Helper()
	l.endLoad()
	ended := time.Now()
	w.waitForCascades(ctx, t, e)
	t.Logf("cascades ended after %s", time.Since(ended).Round(time.Millisecond))
	l.verifyRecords(ctx, t, l.clients[0])
	w.expectAgreement(ctx, t, servers...)
}

func (w *world) waitForCascades(ctx context.Context, t *testing.T, e *etcd) {
	t.Helper()
	until(ctx, t, "the store is clean and cascades end", func() error {
		message, clean, settled := w.runFsck(ctx, e)
		if !clean && ctx.Err() == nil {
			t.Fatalf("fsck:\n%s", keepLastLines(message, 40))
		}
		if !settled {
			return errors.New(keepLastLines(message, 10))
		}
		return nil
	})
}

func readEntries(ctx context.Context, from typed.KubizoneV1alpha1Interface, z *v1alpha1.Zone) (serial, hash, text string, err error) {
	answer := from.RESTClient().Get().Namespace(z.Namespace).Resource("zones").Name(z.Name).SubResource("entries").Param("format", "text").Do(ctx)
	if err := answer.Error(); err != nil { // only Error has the server's message
		return "", "", "", err
	}
	body, err := answer.Raw()
	if err != nil {
		return "", "", "", err
	}
	first := heading.FindStringSubmatch(string(body))
	if first == nil {
		return "", "", "", fmt.Errorf("entries of %s do not begin with their serial and hash: %.200s", z.Name, body)
	}
	return first[1], first[2], string(body), nil
}

var heading = regexp.MustCompile(`zone \S+ serial (\d+) hash ([0-9a-f]+)`)

// expectAgreement: every server, and a primary of the first server, show the same zones, each with the zone's hash.
func (w *world) expectAgreement(ctx context.Context, t *testing.T, servers ...*replica) {
	t.Helper()
	clients := w.clientsOf(t, servers...)
	zones := must.Get(clients[0].Zones("").List(ctx, metav1.ListOptions{}))(t)
	primary := w.startPrimary(ctx, t, servers[0])
	for i := range zones.Items {
		z := &zones.Items[i]
		if z.Status.FQDN == "" {
			continue
		}
		var first string
		for n, from := range clients {
			serial, hash, text, err := readEntries(ctx, from, z)
			if err != nil {
				t.Errorf("server %d: entries of %s: %v", n, z.Name, err)
				continue
			}
			if serial != fmt.Sprint(z.Status.Serial) || hash != z.Status.Hash {
				t.Errorf("server %d shows %s at serial %s with hash %s; the zone has %d and %s", n, z.Name, serial, hash, z.Status.Serial, z.Status.Hash)
			}
			if n == 0 {
				first = text
			} else if text != first {
				t.Errorf("servers 0 and %d show different entries of %s", n, z.Name)
			}
		}
		want := must.Get(parseZone(first, z.Status.FQDN))(t)
		until(ctx, t, "the primary shows "+z.Status.FQDN, func() error {
			have, err := transferZone(primary.dns, z.Status.FQDN)
			if err != nil {
				return err
			}
			if !slices.Equal(have, want) {
				return fmt.Errorf("the primary transfers %d records, the API shows %d:\n%s", len(have), len(want),
					describeDifference(have, want))
			}
			return nil
		})
	}
}

func describeDifference(have, want []string) string {
	var text []string
	for _, x := range have {
		if !slices.Contains(want, x) {
			text = append(text, "+ "+x)
		}
	}
	for _, x := range want {
		if !slices.Contains(have, x) {
			text = append(text, "- "+x)
		}
	}
	return strings.Join(text[:min(len(text), 6)], "\n")
}

func parseZone(text, origin string) ([]string, error) {
	var all []string
	parser := mdns.NewZoneParser(strings.NewReader(text), origin, "")
	for rr, ok := parser.Next(); ok; rr, ok = parser.Next() {
		all = append(all, rr.String())
	}
	slices.Sort(all)
	return slices.Compact(all), parser.Err()
}

func transferZone(at, zone string) ([]string, error) {
	question := new(mdns.Msg).SetAxfr(zone)
	answers, err := new(mdns.Transfer).In(question, at)
	if err != nil {
		return nil, err
	}
	var all []string
	for answer := range answers {
		if answer.Error != nil {
			return nil, answer.Error
		}
		for _, rr := range answer.RR {
			all = append(all, rr.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

func transferChanges(at, zone string, since uint32) ([]mdns.RR, error) {
	answers, err := new(mdns.Transfer).In(new(mdns.Msg).SetIxfr(zone, since, ".", "."), at)
	if err != nil {
		return nil, err
	}
	var all []mdns.RR
	for answer := range answers {
		if answer.Error != nil {
			return nil, answer.Error
		}
		all = append(all, answer.RR...)
	}
	return all, nil
}

// applyChanges applies an IXFR to a zone, both without the SOA (RFC 1995, 4).
func applyChanges(zone []string, answer []mdns.RR) []string {
	if len(answer) < 2 {
		return zone // the server has no newer version
	}
	if answer[1].Header().Rrtype != mdns.TypeSOA {
		zone = nil // the answer is the whole zone
	}
	there := map[string]bool{}
	for _, rr := range zone {
		there[rr] = true
	}
	adds := true
	for _, rr := range answer[1:] {
		if rr.Header().Rrtype != mdns.TypeSOA {
			there[rr.String()] = adds
		} else if zone != nil {
			adds = !adds
		}
	}
	maps.DeleteFunc(there, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(there))
}

type primary struct {
	*rig.Process
	dns string
}

func (p *primary) killPrimary() { p.Kill() }

var readyLine = regexp.MustCompile(`(?m)^ready: DNS on (\S+)$`)

func (w *world) startPrimary(ctx context.Context, t *testing.T, from *replica, flags ...string) *primary {
	t.Helper()
	config := must.Get(clientcmd.LoadFromFile(w.kube.AdminKubeconfig()))(t)
	for _, cluster := range config.Clusters {
		cluster.Server = from.URL()
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must.Succeed(t, clientcmd.WriteToFile(*config, kubeconfig))
	p := &primary{Process: rig.RunProcess(t, w.program, append([]string{"primary", "--kubeconfig", kubeconfig,
		"--dns-listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0"}, flags...)...)}
	until(ctx, t, "the primary is ready", func() error {
		found := readyLine.FindStringSubmatch(p.Log())
		if found == nil {
			return errors.New(keepLastLines(p.Log(), 5))
		}
		p.dns = found[1]
		return nil
	})
	return p
}
