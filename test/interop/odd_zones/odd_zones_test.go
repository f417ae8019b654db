// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd_zones proves: whatever the API admits into a Servable zone, BIND, Knot, NSD and
// PowerDNS load the zone, by transfer and as a file, and hold exactly its entries (S5.7).
package odd_zones

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/up"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	"kubi.zone/kubizone/test/interop/subject"
	"kubi.zone/kubizone/test/rig"
)

var (
	zones = flag.Int("zones", 20, "odd zones to make, the root included")
	seed  = flag.Uint64("seed", 5936, "where their oddities come from")
)

const namespace = "default"

// said keeps what the server says, which is nothing to a test that passes.
type said struct {
	sync.Mutex
	bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.Buffer.Write(p)
}

func (s *said) has(text string) bool {
	s.Lock()
	defer s.Unlock()
	return strings.Contains(s.String(), text)
}

// serve runs everything in this process until the test ends.
func serve(t *testing.T) (*versioned.Clientset, netip.AddrPort) {
	t.Helper()
	dns, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	// Nothing here is about disks, and thousands of records are written: memory will do where there is a file system in it.
	dir, err := os.MkdirTemp("/dev/shm", "kubizone-odd-")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	options := up.NewOptions()
	options.DataDir, options.Listen, options.DNSListen = dir, "127.0.0.1:0", dns.String()
	out := &said{}
	config, err := options.Complete(out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- config.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the server said:\n%s", out.String())
		}
	})
	for deadline := time.Now().Add(2 * time.Minute); !out.has("\nready"); time.Sleep(20 * time.Millisecond) {
		if len(ended) > 0 || time.Now().After(deadline) {
			t.Fatalf("not ready:\n%s", out.String())
		}
	}
	client, err := clientcmd.BuildConfigFromFlags("", filepath.Join(options.DataDir, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	client.QPS, client.WarningHandler = -1, rest.NoWarnings{}
	return versioned.NewForConfigOrDie(client), dns
}

// admitted is a zone that the API took, with the entries and the serial it has.
type admitted struct {
	object, fqdn, file string
	serial             uint32
}

// admit makes the zones through the API, as a tenant would, and leaves out what is refused: refusing is what keeps the promise.
func admit(t *testing.T, client *versioned.Clientset) []admitted {
	t.Helper()
	ctx := t.Context()
	g := &generator{seed: *seed, samples: readSamples(t), every: min(*zones, 20)}
	admittedRecords, refused := 0, map[string]int{}
	for i := range *zones {
		odd := g.zone(i)
		object := fmt.Sprintf("odd-%d", i)
		if _, err := client.KubizoneV1alpha1().Zones(namespace).Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: object}, Spec: odd.spec}, metav1.CreateOptions{}); err != nil {
			t.Fatalf("zone %s: %v", odd.spec.DomainName, err)
		}
		var wait sync.WaitGroup
		var mu sync.Mutex
		work := make(chan int)
		for range 8 {
			wait.Go(func() {
				for n := range work {
					spec := odd.records[n]
					spec.ZoneRef = &v1alpha1.ZoneReference{Name: object}
					_, err := client.KubizoneV1alpha1().Records(namespace).Create(ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", object, n)}, Spec: spec}, metav1.CreateOptions{})
					mu.Lock()
					switch {
					case err == nil:
						admittedRecords++
					case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
						refused[spec.Type]++
					default:
						t.Errorf("%s %s: %v", spec.DomainName, spec.Type, err)
					}
					mu.Unlock()
				}
			})
		}
		for n := range odd.records {
			work <- n
		}
		close(work)
		wait.Wait()
	}
	var all []admitted
	for i := range *zones {
		all = append(all, servable(t, client, fmt.Sprintf("odd-%d", i)))
	}
	t.Logf("seed %d: %d zones, %d records admitted, refused by type: %v", *seed, len(all), admittedRecords, refused)
	if admittedRecords < 20*len(all) {
		t.Errorf("only %d records were admitted: the zones are not odd", admittedRecords)
	}
	return all
}

// servable waits until a zone owes nothing and reads it.
func servable(t *testing.T, client *versioned.Clientset, object string) admitted {
	t.Helper()
	ctx := subject.Within(t, 2*time.Minute)
	for {
		z, err := client.KubizoneV1alpha1().Zones(namespace).Get(ctx, object, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if !apimeta.IsStatusConditionTrue(z.Status.Conditions, "Settled") {
			if ctx.Err() != nil {
				t.Fatalf("zone %s does not settle: %+v", z.Status.FQDN, z.Status.Conditions)
			}
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if !apimeta.IsStatusConditionTrue(z.Status.Conditions, "Servable") {
			t.Fatalf("zone %s was made to be servable: %+v", z.Status.FQDN, z.Status.Conditions)
		}
		file, err := client.KubizoneV1alpha1().RESTClient().Get().Namespace(namespace).Resource("zones").Name(object).SubResource("entries").SetHeader("Accept", "text/dns").DoRaw(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return admitted{object: object, fqdn: z.Status.FQDN, file: string(file), serial: uint32(z.Status.Serial)}
	}
}

// peer is a server with all the zones.
type peer interface {
	Log() string
	Close() error
}

var (
	// complaint is what a server writes about a zone that it would rather not have.
	complaint = regexp.MustCompile(`(?i)error|warning|reject|refus|failed|ignor|bad |invalid|malformed|unable|cannot|could not`)
	// harmless is what sounds like one: how BIND was built, that Knot has no file yet of what it transfers, what NSD
	// thinks of types, what PowerDNS says of itself.
	harmless = regexp.MustCompile(`built with|\(not exists\)|is obsolete|is experimental|This is a WARNING|no warranty|` + oversized)
	// altered is what PowerDNS 4.7 hands on otherwise than it was given it: keys for DNSSEC are left out where it does not
	// sign itself, an empty CAA value has a NUL in it, spheres of more than 4,000 km have 4,000 km.
	altered = regexp.MustCompile(`^\S+ \d+ IN (DNSKEY|CDNSKEY|CDS|CAA \d+ \S+ "(\\000)?"$|LOC .* \d{7,}(\.\d+)?m)`)
	nothing = regexp.MustCompile(`^$`)
)

func TestEveryServerLoadsWhatTheAPIAdmits(t *testing.T) {
	client, primary := serve(t)
	all := admit(t, client)
	if t.Failed() {
		return
	}
	var secondaries []rig.SecondaryZone
	var files []rig.PrimaryZone
	for _, z := range all {
		secondaries = append(secondaries, rig.SecondaryZone{Zone: z.fqdn, Primary: primary})
		files = append(files, rig.PrimaryZone{Zone: z.fqdn, Text: z.file})
	}
	for _, server := range []struct {
		name  string
		but   *regexp.Regexp
		start func(ctx context.Context) (peer, netip.AddrPort, error)
	}{
		{"BIND by transfer", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			b, err := rig.StartBIND(ctx, rig.BINDConfig{Secondaries: secondaries})
			return started(b, err, func() netip.AddrPort { return b.Addr })
		}},
		{"BIND as a file", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			b, err := rig.StartBIND(ctx, rig.BINDConfig{Primaries: files})
			return started(b, err, func() netip.AddrPort { return b.Addr })
		}},
		{"Knot by transfer", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			k, err := rig.StartKnot(ctx, rig.KnotConfig{Secondaries: secondaries})
			return started(k, err, func() netip.AddrPort { return k.Addr })
		}},
		{"Knot as a file", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			k, err := rig.StartKnot(ctx, rig.KnotConfig{Zones: files})
			return started(k, err, func() netip.AddrPort { return k.Addr })
		}},
		{"NSD by transfer", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			n, err := rig.StartNSD(ctx, rig.NSDConfig{Secondaries: secondaries})
			return started(n, err, func() netip.AddrPort { return n.Addr })
		}},
		{"NSD as a file", nothing, func(ctx context.Context) (peer, netip.AddrPort, error) {
			n, err := rig.StartNSD(ctx, rig.NSDConfig{Zones: files})
			return started(n, err, func() netip.AddrPort { return n.Addr })
		}},
		{"PowerDNS by transfer", altered, func(ctx context.Context) (peer, netip.AddrPort, error) {
			p, err := rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Secondaries: secondaries})
			return started(p, err, func() netip.AddrPort { return p.Addr })
		}},
		{"PowerDNS as a file", altered, func(ctx context.Context) (peer, netip.AddrPort, error) {
			p, err := rig.StartPowerDNS(ctx, rig.PowerDNSConfig{Zones: files})
			return started(p, err, func() netip.AddrPort { return p.Addr })
		}},
	} {
		t.Run(server.name, func(t *testing.T) {
			ctx := subject.Within(t, 2*time.Minute+time.Duration(len(all))*5*time.Second)
			p, addr, err := server.start(ctx)
			rig.SkipMissing(t, err)
			defer p.Close()
			holds(ctx, t, p, addr, all, server.but)
		})
	}
}

func started(p peer, err error, addr func() netip.AddrPort) (peer, netip.AddrPort, error) {
	if err != nil {
		return nil, netip.AddrPort{}, err
	}
	return p, addr(), nil
}

// holds compares what a server has with what each zone contains, but for the lines that it alters.
func holds(ctx context.Context, t *testing.T, p peer, addr netip.AddrPort, all []admitted, but *regexp.Regexp) {
	t.Helper()
	dig := rig.Dig{Server: addr}
	// One zone that is refused must not use up the time of the others.
	patience := time.Now().Add(20*time.Second + time.Duration(len(all))*200*time.Millisecond)
	for _, z := range all {
		patience := latest(patience, time.Now().Add(5*time.Second))
		for {
			serial, ok, err := dig.Serial(ctx, z.fqdn)
			if err == nil && ok && serial == z.serial {
				break
			}
			if err = errors.Join(err, ctx.Err()); time.Now().After(patience) || ctx.Err() != nil {
				t.Errorf("%s is not loaded (serial %d, want %d; %v)\nit says:\n%s", z.fqdn, serial, z.serial, err, about(p.Log(), z.fqdn))
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		want, err := rig.Canonical(ctx, z.fqdn, z.file)
		if err != nil {
			t.Errorf("%s: BIND's tools do not read the file: %v", z.fqdn, err)
			continue
		}
		got, err := dig.Transfer(ctx, z.fqdn)
		if pdns, ok := p.(*rig.PowerDNS); ok && err != nil && strings.Contains(p.Log(), oversized) {
			// It puts a hundred records into a message, and hands no zone on where that does not fit.
			if n, err := pdns.Records(ctx, z.fqdn); n != len(want) || err != nil {
				t.Errorf("%s: %d records, want %d; %v", z.fqdn, n, len(want), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", z.fqdn, err)
			continue
		}
		got, want = slices.DeleteFunc(got, but.MatchString), slices.DeleteFunc(want, but.MatchString)
		for _, line := range differences(got, want) {
			t.Errorf("%s: %.300s", z.fqdn, line)
		}
	}
	for _, line := range strings.Split(p.Log(), "\n") {
		if complaint.MatchString(line) && !harmless.MatchString(line) {
			t.Errorf("it complains: %.400s", line)
		}
	}
}

// about is what a log says of a zone, or its end where it names none.
func about(log, fqdn string) string {
	var lines []string
	for _, line := range strings.Split(log, "\n") {
		if fqdn == "." || strings.Contains(line, strings.TrimSuffix(fqdn, ".")) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return log[max(0, len(log)-2000):]
	}
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

const oversized = "attempt to write an oversized chunk"

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func differences(got, want []string) (lines []string) {
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			lines = append(lines, "missing "+line)
		}
	}
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			lines = append(lines, "only there "+line)
		}
	}
	if len(lines) > 20 {
		lines = append(lines[:20], fmt.Sprintf("and %d more differences", len(lines)-20))
	}
	return lines
}
