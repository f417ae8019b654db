// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package crash

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// owner is the namespace of all zones, child zones included: no namespace may create a zone where another has a
// record (S4.15), and these child zones take records over (S3.10).
const owner = "infra"

func countWriters() int {
	if *soak > 0 {
		return 16
	}
	return 5
}

func listTeams() (all []string) {
	for i := range countWriters() {
		all = append(all, fmt.Sprintf("team-%d", i))
	}
	return all
}

type load struct {
	mu      sync.Mutex
	clients []typed.KubizoneV1alpha1Interface // connected to each server directly
	// may has the possible values of each object, "-" for absent: several after a missing answer. An object in doubt
	// is not written again, since a late write would look like a lost write.
	may     map[string][]string
	serials map[string]string // zone uid and serial → the only write with that serial
	wrong   []string
	acked   int
	unknown map[string]int
	last    time.Time // of the last successful answer
	longest time.Duration
	began   time.Time

	log      strings.Builder // a line for each write
	children [3]atomic.Int64 // numbers in the names of the child zones
	stop     context.CancelFunc
	all      sync.WaitGroup
}

func (w *world) clientsOf(t *testing.T, servers ...*replica) (all []typed.KubizoneV1alpha1Interface) {
	t.Helper()
	for _, s := range servers {
		all = append(all, must.Get(versioned.NewForConfig(w.connectDirectly(t, s)))(t).KubizoneV1alpha1())
	}
	return all
}

func (w *world) connectDirectly(t *testing.T, s *replica) *rest.Config {
	t.Helper()
	config := must.Get(s.Direct(w.kube.AdminKubeconfig()))(t)
	config.Timeout, config.WarningHandler = 10*time.Second, rest.NoWarnings{}
	return config
}

var anyName = v1alpha1.DelegationRule{Records: []v1alpha1.RecordDelegation{{Pattern: "*"}, {Pattern: "@"}, {Pattern: "*.*"}}}

func makeZone(namespace, name, domain string, rules ...v1alpha1.DelegationRule) *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: domain, Delegations: rules, NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
	}}
}

func makeTXT(namespace, name, domain, value string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.RecordSpec{DomainName: domain, Type: "TXT", Values: []string{value}}}
}

// startLoad starts writers, a client that creates and deletes zones, and a client that withdraws and restores rules.
func (w *world) startLoad(ctx context.Context, t *testing.T, servers ...*replica) *load {
	t.Helper()
	l := w.newLoad(ctx, t, servers...)
	l.startLoad(ctx)
	return l
}

func (l *load) startLoad(ctx context.Context) {
	ctx, l.stop = context.WithCancel(ctx)
	l.began = time.Now()
	for i := range countWriters() {
		l.all.Go(func() { l.writeRecords(ctx, i) })
	}
	l.all.Go(func() { l.makeChildren(ctx) })
	l.all.Go(func() { l.makeCascades(ctx) })
}

// All writers of a load write in the same burst and then pause for the rest of a turn. They collide as in continuous
// writing, but leave the machine to a starting server and to parallel tests.
const turn, burst = 300 * time.Millisecond, 60 * time.Millisecond

// With -soak, writers never pause.
func (l *load) waitForBurst() {
	if now := time.Since(l.began) % turn; now > burst && *soak == 0 {
		time.Sleep(turn - now)
	}
}

func (w *world) newLoad(ctx context.Context, t *testing.T, servers ...*replica) *load {
	t.Helper()
	l := &load{clients: w.clientsOf(t, servers...), may: map[string][]string{}, serials: map[string]string{}, unknown: map[string]int{}, last: time.Now(), stop: func() {}}
	follower := makeZone(owner, "follower", "below", anyName)
	follower.Spec.ZoneRef = &v1alpha1.ZoneReference{Namespace: owner, Name: "three"}
	for _, z := range []*v1alpha1.Zone{
		makeZone(owner, "one", "one.test.", anyName, v1alpha1.DelegationRule{Zones: []string{"*"}}),
		makeZone(owner, "two", "two.test.", anyName),
		makeZone(owner, "three", "three.test.", anyName, v1alpha1.DelegationRule{Zones: []string{"*"}}),
		follower,
	} {
		must.Get(l.clients[0].Zones(owner).Create(ctx, z, metav1.CreateOptions{}))(t)
	}
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Spec: v1alpha1.DNSClassSpec{
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: "192.0.2.54"}}},
	}}
	must.Get(l.clients[0].DNSClasses().Create(ctx, class, metav1.CreateOptions{}))(t)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		l.endLoad()
		if to := keptFile(t, "writes"); to != "" {
			t.Logf("the writes are kept as %s: %v", to, os.WriteFile(to, []byte(l.log.String()), 0o600))
		}
	})
	return l
}

func (l *load) endLoad() {
	l.stop()
	l.all.Wait()
}

// wasRefused reports whether nothing changed.
func wasRefused(err error) bool {
	if utilnet.IsConnectionRefused(err) {
		time.Sleep(20 * time.Millisecond) // let a restarting server find the writers
		return true
	}
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsConflict(err) || apierrors.IsTooManyRequests(err) || apierrors.IsBadRequest(err) ||
		apierrors.ReasonForError(err) == "InsufficientStorage"
}

// done is false if the object is in doubt from now on. The end of the load does not cancel a request.
func (l *load) makeWrite(key, value string, write func(context.Context) (*v1alpha1.Record, error)) (done, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	began := time.Now()
	record, err := write(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteWrite(began, key, value, record, err)
	if l.may[key] == nil {
		l.may[key] = []string{"-"}
	}
	switch {
	case err == nil:
		l.may[key] = []string{value}
		l.acked++
		l.longest = max(l.longest, time.Since(l.last))
		l.last = time.Now()
		if record != nil && record.Status.ZoneRef != nil {
			at := fmt.Sprintf("zone %s serial %d", record.Status.ZoneRef.UID, record.Status.Serial)
			if before := l.serials[at]; before != "" && before != key+"="+value {
				l.wrong = append(l.wrong, fmt.Sprintf("%s was given to %s and to %s=%s", at, before, key, value))
			}
			l.serials[at] = key + "=" + value
		}
		return true, true
	case wasRefused(err):
		return true, false
	}
	why := string(apierrors.ReasonForError(err))
	if why == "" {
		why = "no answer"
	}
	l.unknown[why]++
	l.may[key] = append(l.may[key], value)
	return false, false
}

func (l *load) noteWrite(began time.Time, key, value string, r *v1alpha1.Record, err error) {
	const clock = "15:04:05.000000"
	fmt.Fprintf(&l.log, "%s %s %s=%s", began.Format(clock), time.Now().Format(clock), key, value)
	switch {
	case err != nil:
		fmt.Fprintf(&l.log, " error %q", err)
	case r != nil:
		fmt.Fprintf(&l.log, " version %s of %s, %s in zone %v at serial %d", r.ResourceVersion, r.UID, r.Status.FQDN, r.Status.ZoneRef,
			r.Status.Serial)
	}
	l.log.WriteByte('\n')
}

func (l *load) measurePause() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	longest := max(l.longest, time.Since(l.last))
	l.longest, l.last = 0, time.Now()
	return longest
}

func (l *load) waitAcked(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	l.mu.Lock()
	want := l.acked + n
	l.mu.Unlock()
	until(ctx, t, "writes go on", func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.acked < want {
			return fmt.Errorf("%d answered, want %d; without an answer: %v", l.acked, want, l.unknown)
		}
		return nil
	})
}

// Each worker of writeRecords has names of its own. A read by any server shows an acknowledged write (S7.1).
func (l *load) writeRecords(ctx context.Context, w int) {
	rnd := rand.New(rand.NewPCG(*seed, uint64(w)))
	namespace := listTeams()[w]
	there, next := []string{}, 0
	for i := 0; ctx.Err() == nil; i++ {
		l.waitForBurst()
		servers := l.listServers()
		records := servers[rnd.IntN(len(servers))].Records(namespace)
		value := fmt.Sprintf("%d-%d", w, i)
		if len(there) < 4 || len(there) < 12 && rnd.IntN(2) == 0 {
			name := fmt.Sprintf("r%d", next)
			next++
			record := makeTXT(namespace, name, fmt.Sprintf("%s-%s.one.test.", namespace, name), value)
			switch rnd.IntN(6) {
			case 0:
				child := rnd.IntN(len(l.children))
				record.Spec.DomainName = fmt.Sprintf("%s-%s.%s.one.test.", namespace, name, childName(child, l.children[child].Load()))
			case 1:
				record.Spec.DomainName = fmt.Sprintf("%s-%s.two.test.", namespace, name)
			case 2:
				record.Spec.DomainName, record.Spec.ZoneRef = namespace+"-"+name, &v1alpha1.ZoneReference{Namespace: owner, Name: "three"}
			case 3: // in no zone, before the record moves into a zone
				record.Spec.DomainName = fmt.Sprintf("%s-%s.nowhere.test.", namespace, name)
			}
			if done, ok := l.makeWrite(namespace+"/"+name, value, func(ctx context.Context) (*v1alpha1.Record, error) {
				return records.Create(ctx, record, metav1.CreateOptions{})
			}); done && ok {
				there = append(there, name)
			}
			continue
		}
		n := rnd.IntN(len(there))
		name := there[n]
		key := namespace + "/" + name
		var done bool
		if rnd.IntN(3) == 0 {
			var ok bool
			done, ok = l.makeWrite(key, "-", func(ctx context.Context) (*v1alpha1.Record, error) {
				return nil, records.Delete(ctx, name, metav1.DeleteOptions{})
			})
			if ok {
				there = slices.Delete(there, n, n+1)
			}
		} else {
			var ok bool
			done, ok = l.makeWrite(key, value, func(ctx context.Context) (*v1alpha1.Record, error) {
				have, err := records.Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					if wasRefused(err) || apierrors.IsNotFound(err) {
						return nil, err
					}
					return nil, apierrors.NewTooManyRequestsError("the read failed, and nothing was written: " + err.Error())
				}
				have.Spec.Values = []string{value}
				return records.Update(ctx, have, metav1.UpdateOptions{})
			})
			if ok && rnd.IntN(4) == 0 {
				l.readBack(ctx, rnd.IntN(len(servers)), namespace, name, value)
			}
		}
		if !done {
			there = slices.DeleteFunc(there, func(x string) bool { return x == name })
		}
	}
}

func (l *load) readBack(ctx context.Context, server int, namespace, name, want string) {
	have, err := l.listServers()[server].Records(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil && slices.Equal(have.Spec.Values, []string{want}) || err != nil && !apierrors.IsNotFound(err) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf("%s/%s=%s was acknowledged and server %d reads %v, %v", namespace, name, want, server, have.Spec.Values, err))
}

func childName(child int, number int64) string { return fmt.Sprintf("child%d-%d", child, number) }

// makeChildren creates child zones, changes name servers, which the parent counts, and deletes the zones. A new zone
// replaces a zone in doubt.
func (l *load) makeChildren(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		child := i % len(l.children)
		name := childName(child, l.children[child].Load())
		servers := l.listServers()
		zones := func(n int) typed.ZoneInterface { return servers[(i+n)%len(servers)].Zones(owner) }
		key := "zone/" + name
		steps := []func(context.Context) (string, error){
			func(ctx context.Context) (string, error) {
				born := makeZone(owner, name, name+".one.test.", anyName)
				// With these timers, the last serial soon expires while other zones are created.
				born.Spec.Refresh, born.Spec.Retry, born.Spec.Expire = ptr.To[int32](2), ptr.To[int32](1), ptr.To[int32](4)
				_, err := zones(0).Create(ctx, born, metav1.CreateOptions{})
				return "made", err
			},
			func(ctx context.Context) (string, error) {
				have, err := zones(1).Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return "made", apierrors.NewTooManyRequestsError(err.Error())
				}
				have.Spec.NameServers = []v1alpha1.NameServer{{Name: "ns2", Addresses: []string{fmt.Sprintf("192.0.2.%d", i%250)}}}
				_, err = zones(1).Update(ctx, have, metav1.UpdateOptions{})
				return "made", err
			},
			func(ctx context.Context) (string, error) {
				return "-", zones(0).Delete(ctx, name, metav1.DeleteOptions{})
			},
		}
		for n, step := range steps {
			l.waitForBurst()
			var becomes string
			done, ok := l.makeWrite(key, "made", func(ctx context.Context) (*v1alpha1.Record, error) {
				var err error
				becomes, err = step(ctx)
				return nil, err
			})
			if !done {
				l.allowValue(key, becomes)
				l.children[child].Add(1)
				break
			}
			if n == 0 && !ok {
				break // there is no zone to change
			}
			if ok && becomes == "-" {
				l.setValue(key, "-")
				l.children[child].Add(1)
			}
		}
	}
}

func (l *load) allowValue(key, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.may[key] = append(l.may[key], value)
}

func (l *load) setValue(key, value string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.may[key] = []string{value}
}

// makeCascades starts cascades: rules are withdrawn and restored, and a zone changes its name. fsck judges the
// outcome.
func (l *load) makeCascades(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		l.waitForBurst()
		servers := l.listServers()
		zones := servers[i%len(servers)].Zones(owner)
		change := func(name string, how func(*v1alpha1.Zone)) {
			if z, err := zones.Get(ctx, name, metav1.GetOptions{}); err == nil {
				how(z)
				_, _ = zones.Update(ctx, z, metav1.UpdateOptions{})
			}
		}
		change("two", func(z *v1alpha1.Zone) {
			if len(z.Spec.Delegations) > 0 {
				z.Spec.Delegations = nil
			} else {
				z.Spec.Delegations = []v1alpha1.DelegationRule{anyName}
			}
		})
		change("one", func(z *v1alpha1.Zone) { z.Spec.Contact = fmt.Sprintf("hostmaster%d@one.test.", i%2) })
		classes := servers[i%len(servers)].DNSClasses() // classes are in no zone
		if class, err := classes.Get(ctx, "elsewhere", metav1.GetOptions{}); err == nil {
			class.Spec.Paused = !class.Spec.Paused
			_, _ = classes.Update(ctx, class, metav1.UpdateOptions{})
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (l *load) verifyRecords(ctx context.Context, t *testing.T, from typed.KubizoneV1alpha1Interface) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, wrong := range l.wrong[:min(len(l.wrong), 5)] {
		t.Error(wrong)
	}
	have := map[string]string{}
	records := must.Get(from.Records("").List(ctx, metav1.ListOptions{}))(t)
	for _, r := range records.Items {
		have[r.Namespace+"/"+r.Name] = strings.Join(r.Spec.Values, " ")
	}
	zones := must.Get(from.Zones(owner).List(ctx, metav1.ListOptions{}))(t)
	for _, z := range zones.Items {
		have["zone/"+z.Name] = "made"
	}
	var lost []error
	for key, values := range l.may {
		is := have[key]
		if is == "" {
			is = "-"
		}
		if !slices.Contains(values, is) {
			lost = append(lost, fmt.Errorf("%s is %q, and may be %q", key, is, values))
		}
	}
	if err := errors.Join(lost...); err != nil {
		t.Errorf("%d of %d objects are not what was acknowledged:\n%s", len(lost), len(l.may), keepLastLines(err.Error(), 5))
	}
	t.Logf("%d writes acknowledged, without an answer %v, longest pause %s", l.acked, l.unknown, l.longest.Round(time.Millisecond))
}

func (l *load) addServers(w *world, t *testing.T, servers ...*replica) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = slices.Concat(l.clients, w.clientsOf(t, servers...))
}

func (l *load) listServers() []typed.KubizoneV1alpha1Interface {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clients
}
