// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/ledger/fsck"
	"kubi.zone/kubizone/test/store"
)

// The test's binary runs itself as a child that is killed: etcd, two servers and
// writers in one process. Each child first checks what the killed ones left.
const (
	crashDir   = "KUBIZONE_CRASH_DIR"
	crashCheck = "KUBIZONE_CRASH_CHECK" // only check
	crashHere  = "/registry/kubizone"
)

// note writes one line at once: what a killed child said it had done must be there.
func note(format string, args ...any) {
	_, _ = os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// crashing is the child. Its lines: "I key value" a write begins, "A key value"
// it was acknowledged, "D key" it was refused and changed nothing, "ready" the
// check is done and the load begins, "wrong ..." what must not be.
func crashing(dir string) int {
	etcd, err := store.StartEtcd(filepath.Join(dir, "etcd"))
	if err != nil {
		note("wrong: %v", err)
		return 1
	}
	ctx := context.Background()
	var servers [2]*store.Server
	for i := range servers {
		client, err := etcd.Client()
		if err == nil {
			servers[i], err = store.NewServer(ctx, client, crashHere)
		}
		if err != nil {
			note("wrong: %v", err)
			return 1
		}
		go func() { _ = servers[i].Ledger.Run(ctx) }()
	}
	if !crashVerify(ctx, etcd, servers[0], filepath.Join(dir, "said")) {
		return 1
	}
	note("ready")
	if os.Getenv(crashCheck) != "" {
		return 0
	}
	crashLoad(ctx, servers)
	return 0 // never: it is killed
}

// crashVerify holds the store against fsck, before and after the outbox is
// empty, and against what the killed processes said.
func crashVerify(ctx context.Context, etcd *store.Etcd, s *store.Server, said string) bool {
	client, err := etcd.Client()
	if err != nil {
		note("wrong: %v", err)
		return false
	}
	defer client.Close()
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		r, err := fsck.Run(ctx, fsck.Config{Client: client.Client, Prefix: crashHere, Zones: store.Codec(), Records: store.Codec()})
		if err != nil || !r.Clean() {
			note("wrong: %v %s", err, strings.ReplaceAll(store.Text(r), "\n", " | "))
			return false
		}
		if r.Owed.Total == 0 {
			note("checked %d records, %d steps", r.Records, r.Steps)
			break
		}
		if time.Now().After(until) {
			note("wrong: not settled after a minute: %s", strings.ReplaceAll(store.Text(r), "\n", " | "))
			return false
		}
	}
	data, err := os.ReadFile(said)
	if os.IsNotExist(err) {
		return true
	} else if err != nil {
		note("wrong: %v", err)
		return false
	}
	may := map[string][]string{} // by key: the last acknowledged value, then those begun since
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.SplitN(line, " ", 3)
		if len(f) < 2 {
			continue
		}
		if may[f[1]] == nil {
			may[f[1]] = []string{"-"}
		}
		switch f[0] {
		case "I":
			may[f[1]] = append(may[f[1]], f[2])
		case "A":
			may[f[1]] = []string{f[2]}
		case "D":
			may[f[1]] = may[f[1]][:len(may[f[1]])-1] // what a killed process began before may still stand
		}
	}
	for key, values := range may {
		have := "-"
		if strings.HasPrefix(key, "zone/") {
			z := &v1alpha1.Zone{}
			if s.Zones.Get(ctx, store.Key("zones", "team-z", key[5:]), storage.GetOptions{}, z) == nil {
				have = z.Spec.DomainName
			}
		} else {
			ns, name, _ := strings.Cut(key, "/")
			r := &v1alpha1.Record{}
			if s.Records.Get(ctx, store.Key("records", ns, name), storage.GetOptions{}, r) == nil {
				have = r.Spec.Values[0]
			}
		}
		if !slices.Contains(values, have) {
			var history []string
			for _, line := range strings.Split(string(data), "\n") {
				if f := strings.SplitN(line, " ", 3); len(f) > 1 && f[1] == key {
					history = append(history, line)
				}
			}
			note("wrong: %s is %q, and %q was acknowledged or begun last, after %q", key, have, values, history)
			return false
		}
	}
	return true
}

// crashLoad writes until it is killed: records of four zones by eight writers, which
// move them between zones, children made and removed, delegations changed, and a
// zone's name with that of the zone that follows it.
func crashLoad(ctx context.Context, servers [2]*store.Server) {
	run := time.Now().UnixNano()
	said := func(key, value string, write func() error) {
		note("I %s %s", key, value)
		if err := write(); err == nil {
			note("A %s %s", key, value)
		} else if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || storage.IsExist(err) || storage.IsNotFound(err) {
			note("D %s", key)
		} else {
			note("wrong: writing %s: %v", key, err)
		}
	}
	base := func(s *store.Server, z *v1alpha1.Zone) {
		if _, err := s.CreateZone(z); err != nil && !storage.IsExist(err) {
			note("wrong: zone %s: %v", z.Name, err)
		}
	}
	any := store.Allow("", "@", "*", "*.*")
	base(servers[0], store.Zone("infra", "one", "one.test.", any, v1alpha1.DelegationRule{Zones: []string{"*"}}))
	base(servers[0], store.Zone("infra", "two", "two.test.", any))
	base(servers[0], store.Zone("infra", "three", "three.test.", any, v1alpha1.DelegationRule{Zones: []string{"*"}}))
	follows := store.Zone("infra", "follows", "follows", any)
	follows.Spec.ZoneRef = &v1alpha1.ZoneReference{Name: "three"}
	base(servers[0], follows)
	done := make(chan struct{})
	for w := range 8 {
		go func() {
			rnd := rand.New(rand.NewPCG(uint64(run), uint64(w)))
			s, ns := servers[w%2], fmt.Sprintf("team-%d", w)
			for i := 0; ; i++ {
				name := fmt.Sprintf("r%d", rnd.IntN(30))
				value := fmt.Sprintf("%d-%d-%d", run, w, i)
				switch rnd.IntN(4) {
				case 0, 1:
					domain, ref := fmt.Sprintf("%s-%s.child%d.one.test.", ns, name, rnd.IntN(3)), ""
					switch rnd.IntN(3) {
					case 0:
						domain = fmt.Sprintf("%s-%s.two.test.", ns, name)
					case 1:
						domain, ref = ns+"-"+name, "three"
					}
					r := store.Record(ns, name, domain, "TXT", value)
					if ref != "" {
						r.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: "infra", Name: ref}
					}
					said(ns+"/"+name, value, func() error { _, err := s.CreateRecord(ctx, r); return err })
				case 2:
					said(ns+"/"+name, value, func() error {
						_, err := s.UpdateRecord(ctx, ns, name, func(r *v1alpha1.Record) {
							r.Spec.Values = []string{value}
						})
						return err
					})
				case 3:
					said(ns+"/"+name, "-", func() error { return s.DeleteRecord(ctx, ns, name) })
				}
			}
		}()
	}
	go func() { // children come and go, with name servers that the parent counts
		for i := 0; ; i++ {
			name := fmt.Sprintf("child%d", i%3)
			domain := name + ".one.test."
			said("zone/"+name, domain, func() error { _, err := servers[0].CreateZone(store.Zone("team-z", name, domain, any)); return err })
			said("zone/"+name, domain, func() error {
				_, err := servers[1].UpdateZone("team-z", name, func(z *v1alpha1.Zone) {
					z.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns2", Addresses: []string{fmt.Sprintf("192.0.2.%d", i%250)}}}
				})
				return err
			})
			if i%2 == 1 {
				said("zone/"+name, "-", func() error { return servers[0].DeleteZone("team-z", name) })
			}
		}
	}()
	go func() { // rules are withdrawn and given back
		for i := 0; ; i++ {
			if _, err := servers[1].UpdateZone("infra", "two", func(z *v1alpha1.Zone) {
				if len(z.Spec.Delegations) > 0 {
					z.Spec.Delegations = nil
				} else {
					z.Spec.Delegations = []v1alpha1.DelegationRule{any}
				}
			}); err != nil {
				note("wrong: rules: %v", err)
			}
			for j, s := range servers { // rules beside those of the zone
				name, zone := fmt.Sprint("some", j), []string{"two", "three"}[j]
				var err error
				switch d := store.Delegation("infra", name, zone, []string{"team-0", "team-1", "team-2"}, "*", fmt.Sprint("shared", i%3)); i % 3 {
				case 0:
					d.Spec.Records[1].Shared = true
					_, err = s.CreateDelegation(d)
				case 1:
					_, err = s.UpdateDelegation("infra", name, func(d *v1alpha1.Delegation) { d.Spec.Namespaces = []string{"team-2", "team-3"} })
				case 2:
					err = s.DeleteDelegation("infra", name)
				}
				if err != nil && !storage.IsExist(err) && !storage.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
					note("wrong: Delegation: %v", err)
				}
			}
			time.Sleep(50 * time.Millisecond)
		}
	}()
	<-done
}

func TestCrash_killedAtRandomMomentsNothingIsLost_I4(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said, err := os.OpenFile(filepath.Join(dir, "said"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	kills := scale(10, 8)
	acked := 0
	for i := range kills + 1 {
		c := exec.Command(os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), crashDir+"="+dir)
		if i == kills {
			c.Env = append(c.Env, crashCheck+"=1")
		}
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		ready := false
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err == io.EOF {
				break // a last line without its end was not said
			} else if err != nil {
				t.Fatal(err)
			}
			switch {
			case strings.HasPrefix(line, "wrong"):
				t.Errorf("process %d: %s", i, line)
			case line == "ready\n":
				ready = true
				if i < kills {
					time.AfterFunc(50*time.Millisecond+time.Duration(rand.IntN(900))*time.Millisecond, func() { _ = c.Process.Kill() })
				}
			case strings.HasPrefix(line, "checked"):
				t.Logf("process %d %s", i, strings.TrimSpace(line))
			default:
				if line[0] == 'A' {
					acked++
				}
				if _, err := said.WriteString(line); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Wait() // killed: an error by design
		if !ready || t.Failed() {
			t.Fatalf("process %d did not come up clean", i)
		}
	}
	t.Logf("%d kills, %d acknowledged writes", kills, acked)
}
