// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package fleet

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/pkg/bind9/fleet"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var (
	faultCount = flag.Int("faults", 0, "how many faults TestFaults makes; "+
		"0: a few, and in its long form one for each five minutes of a day")
	faultSeed = flag.Uint64("fault-seed", 0, "of the choice of faults; 0: 1, and in its long form another one each time, "+
		"which is printed")
)

const (
	faultServers = 3
	faulty       = "prod-secondary-0"
	// dayFaults is a fault for every five minutes of a day. Faults are short, so a day takes half an hour.
	dayFaults    = 288
	fewFaults    = 4
	longestFault = 2 * time.Second
)

type causes struct {
	*testing.T
	mu       sync.Mutex
	messages []string
}

func (c *causes) addCause(format string, args []any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages = append(c.messages, fmt.Sprintf(format, args...))
}

func (c *causes) Errorf(format string, args ...any) {
	c.Helper()
	c.addCause(format, args)
	c.T.Errorf(format, args...)
}

func (c *causes) Fatalf(format string, args ...any) {
	c.Helper()
	c.addCause(format, args)
	c.T.Fatalf(format, args...)
}

// service is a process of ours that restarts after each exit, as by a kubelet: after a fault, or after a lost Lease.
type service struct {
	name    string
	process atomic.Pointer[rig.Process]
	// down is held while the service must stay down. killed: the next exit is a fault's.
	down   sync.Mutex
	killed atomic.Bool
	lost   atomic.Int64
}

// site is a namespace with a Bind9Cluster of one server.
type site struct {
	*world
	t  *causes
	at netip.AddrPort // of its Service
	// disturbed: a fault excuses missing answers. mending allows a single fault of a site at a time.
	disturbed atomic.Bool
	mending   sync.Mutex
	// replaced: another named may answer. BIND answers from a transferred zone before writing it to disk, so the next
	// named may start with an older version or without the zone.
	replaced         atomic.Bool
	missing, answers atomic.Int64
}

type room struct {
	*world
	t                   *causes
	sites               []*site
	at                  netip.AddrPort // of the primary
	primary, controller *service
	config              fleet.Config
	// common is held by a fault of shared parts.
	common sync.Mutex
	// written is the last value possibly written.
	written atomic.Uint32
}

// TestFaults injects faults, chosen by a seed, into three servers and everything around them, under writes and
// queries. No answer is wrong, no server lacks an answer because of a fault elsewhere, and at the end every server
// has every zone at its serial.
func TestFaults_leaveEveryServerAtEverySerial(t *testing.T) {
	count, seed := fewFaults, uint64(1)
	if rig.Long() {
		count, seed = dayFaults, rand.Uint64()
	}
	if *faultCount > 0 {
		count = *faultCount
	}
	if *faultSeed > 0 {
		seed = *faultSeed
	}
	t.Logf("%d faults by -fault-seed %d", count, seed)
	r := newRoom(t)
	r.makeZones()
	var querying, running sync.WaitGroup
	ctx, stop := context.WithCancel(r.ctx)
	defer stop()
	for _, one := range r.sites {
		one.waitAnswers(ctx)
		querying.Go(func() { one.queryServer(ctx, &r.written) })
	}
	writing, stopWriting := context.WithCancel(r.ctx)
	defer stopWriting()
	running.Go(func() { r.writeRecords(writing) })

	random := rand.New(rand.NewPCG(seed, 0))
	faults := r.listFaults()
	for i := range count {
		fault, at := faults[random.IntN(len(faults))], r.sites[random.IntN(len(r.sites))]
		hold, pause := time.Duration(random.Int64N(int64(longestFault))), time.Duration(random.Int64N(int64(longestFault)))
		t.Logf("fault %d: %s at %s for %s", i, fault.name, at.namespace, hold.Round(time.Millisecond))
		running.Go(func() { fault.do(at, hold) })
		time.Sleep(pause) // the next fault comes during this fault or its repair
	}
	stopWriting()
	running.Wait()
	r.waitEverySerial()
	stop()
	querying.Wait()
	for _, one := range r.sites {
		t.Logf("%s: %d answers, %d missing", one.namespace, one.answers.Load(), one.missing.Load())
		if one.answers.Load() == 0 {
			r.t.Errorf("%s answered nothing", one.namespace)
		}
	}
	t.Logf("the controller ended %d times because it could not renew its Lease", r.controller.lost.Load())
	must.Succeed(r.world.t, r.kubizone.KubizoneV1alpha1().Zones(r.namespace).DeleteCollection(r.ctx, metav1.DeleteOptions{},
		metav1.ListOptions{}))
	must.Succeed(r.world.t, r.kubizone.KubizoneV1alpha1().DNSClasses().Delete(r.ctx, r.namespace, metav1.DeleteOptions{}))
}

func newRoom(t *testing.T) *room {
	r := &room{t: &causes{T: t}, primary: &service{name: "primary"}, controller: &service{name: "controller"}}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what failed:\n%s", strings.Join(r.t.messages, "\n"))
		}
	})
	var namespaces []string
	for i := range faultServers {
		one := &site{world: newWorld(t, fmt.Sprintf("faults-%d", i)), t: r.t}
		if i == 0 {
			r.world = one.world
		}
		r.sites, namespaces = append(r.sites, one), append(namespaces, one.namespace)
	}
	r.at = r.findPort()
	for _, s := range []*service{r.primary, r.controller} {
		must.Succeed(r.world.t, r.startService(s))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.keepRunning(s)
		}()
		t.Cleanup(func() {
			<-ended
			s.process.Load().End()
			if t.Failed() {
				t.Logf("%s said:\n%s", s.name, s.process.Load().Log())
			}
		})
	}
	r.config = fleet.Config{Namespaces: namespaces, Primaries: primaryAt(r.at)}
	r.runFleetWith(r.config)
	var secondaries []v1alpha1.Secondary
	for _, one := range r.sites {
		_, err := r.kubizone.Bind9V1alpha1().Bind9Clusters(one.namespace).Create(r.ctx, &bind9.Bind9Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: bind9.Bind9ClusterSpec{Secondary: &bind9.RoleSettings{Replicas: 1}},
		}, metav1.CreateOptions{})
		must.Succeed(r.world.t, err)
		one.at = one.findService(faulty)
		secondaries = append(secondaries, v1alpha1.Secondary{Address: one.at.String(), TSIGSecretRef: &v1alpha1.SecretReference{Namespace: one.namespace, Name: render.TransferSecretName("prod")}})
		one.waitUntil("the TSIG key is there", func() error {
			_, err := one.core.CoreV1().Secrets(one.namespace).Get(one.ctx, render.TransferSecretName("prod"), metav1.GetOptions{})
			return err
		})
	}
	_, err := r.kubizone.KubizoneV1alpha1().DNSClasses().Create(r.ctx, &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}, Spec: v1alpha1.DNSClassSpec{
		Namespaces: &v1alpha1.NamespaceSelection{Names: []string{r.namespace}},
		Transfer:   &v1alpha1.TransferProvider{CatalogZone: "faults.catalog.example.", Secondaries: secondaries},
	}}, metav1.CreateOptions{})
	must.Succeed(r.world.t, err)
	return r
}

func (r *room) startService(s *service) error {
	flags := map[*service][]string{
		r.primary:    {"--dns-listen", r.at.String()},
		r.controller: {"--lease", r.namespace + "/controller", "--lease-duration", "3s"},
	}[s]
	process, err := rig.StartProcess([]string{delivering.EnvRetryMaxDelay + "=2s"}, r.t.TempDir(), r.program,
		append([]string{s.name, "--kubeconfig", r.kube.AdminKubeconfig(), "--health-listen", "127.0.0.1:0"}, flags...)...)
	if err == nil {
		s.process.Store(process)
	}
	return err
}

func (r *room) keepRunning(s *service) {
	for {
		process := s.process.Load()
		select {
		case <-r.ctx.Done():
			return
		case <-process.Ended():
		}
		s.down.Lock()
		if !s.killed.Swap(false) {
			// Others may log later.
			if message := process.Log(); strings.Contains(message, "kubizone: the Lease is another's, or could not be renewed in time\n") {
				s.lost.Add(1)
			} else {
				r.t.Errorf("%s ended by itself, %v:\n%s", s.name, process.Err(), message[max(0, len(message)-1000):])
			}
		}
		err := r.startService(s)
		s.down.Unlock()
		if err != nil {
			r.t.Errorf("%s does not start again: %v", s.name, err)
			return
		}
	}
}

// makeZones: one of the queried names never changes, the other always does.
func (r *room) makeZones() {
	r.written.Store(1)
	_, err := r.kubizone.KubizoneV1alpha1().Zones(r.namespace).Create(r.ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Spec: v1alpha1.ZoneSpec{
		DomainName: "faults.example.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: r.namespace}}, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		Delegations: []v1alpha1.DelegationRule{{Namespace: r.namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}, metav1.CreateOptions{})
	must.Succeed(r.world.t, err)
	for name, value := range map[string]string{"fixed": fixedAddress, "www": addressOf(1)} {
		_, err = r.kubizone.KubizoneV1alpha1().Records(r.namespace).Create(r.ctx, &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RecordSpec{
			DomainName: name, ZoneRef: &v1alpha1.ZoneReference{Name: "main"}, Type: "A", RData: value,
		}}, metav1.CreateOptions{})
		must.Succeed(r.world.t, err)
	}
}

const fixedAddress = "192.0.2.1"

var askedNames = []string{"fixed", "www"}

func addressOf(n uint32) string {
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

// writeRecords also creates and deletes zones, with retries.
func (r *room) writeRecords(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		next := r.written.Add(1) // before the write, as an answer may come before the server's
		r.persistUntilDone(func(ctx context.Context) error {
			_, err := r.kubizone.KubizoneV1alpha1().Records(r.namespace).Patch(ctx, "www", types.MergePatchType, fmt.Appendf(nil, `{"spec":{"rdata":%q}}`, addressOf(next)), metav1.PatchOptions{})
			return err
		})
		if i%5 == 0 {
			name := fmt.Sprintf("z%d", i)
			r.persistUntilDone(func(ctx context.Context) error {
				_, err := r.kubizone.KubizoneV1alpha1().Zones(r.namespace).Create(ctx, &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.ZoneSpec{
					DomainName: name + ".example.", DNSClassRefs: []v1alpha1.DNSClassReference{{Name: r.namespace}}, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
				}}, metav1.CreateOptions{})
				if apierrors.IsAlreadyExists(err) {
					return nil
				}
				return err
			})
		}
		if i%5 == 0 && i >= 15 {
			r.persistUntilDone(func(ctx context.Context) error {
				err := r.kubizone.KubizoneV1alpha1().Zones(r.namespace).Delete(ctx, fmt.Sprintf("z%d", i-15), metav1.DeleteOptions{})
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
			})
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (r *room) persistUntilDone(do func(context.Context) error) {
	until := time.Now().Add(waitTimeout)
	for {
		ctx, cancel := context.WithTimeout(r.ctx, 5*time.Second)
		err := do(ctx)
		cancel()
		if err == nil || r.ctx.Err() != nil {
			return
		}
		if time.Now().After(until) {
			r.t.Errorf("it is not done: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *site) askSite(ctx context.Context, name string, kind uint16) (mdns.RR, string, error) {
	question := new(mdns.Msg).SetQuestion(name, kind)
	question.RecursionDesired = false
	answer, _, err := (&mdns.Client{Timeout: time.Second}).ExchangeContext(ctx, question, s.at.String())
	if err != nil {
		return nil, "", err
	}
	if len(answer.Answer) == 1 && answer.Rcode == mdns.RcodeSuccess {
		return answer.Answer[0], "", nil
	}
	return nil, mdns.RcodeToString[answer.Rcode], nil
}

func (s *site) waitAnswers(ctx context.Context) {
	s.t.Helper()
	s.waitUntil("it answers", func() error {
		for _, name := range askedNames {
			if rr, code, err := s.askSite(ctx, name+".faults.example.", mdns.TypeA); err != nil || rr == nil {
				return fmt.Errorf("%s: %s %w", name, code, err)
			}
		}
		return nil
	})
}

// An answer is wrong with a value never written, or older than before. A refusal is missing, and wrong unless the
// fault is the site's own.
func (s *site) queryServer(ctx context.Context, written *atomic.Uint32) {
	last := uint32(0)
	for ctx.Err() == nil {
		for _, name := range askedNames {
			before, replaced := s.disturbed.Load(), s.replaced.Load()
			rr, code, err := s.askSite(ctx, name+".faults.example.", mdns.TypeA)
			if ctx.Err() != nil {
				return
			}
			if err != nil || rr == nil {
				s.missing.Add(1)
				if code != "" && !before && !s.disturbed.Load() {
					s.t.Errorf("%s answers %s for %s though no fault is its own", s.namespace, code, name)
				}
				continue
			}
			s.answers.Add(1)
			if replaced || s.replaced.Load() {
				last = 0
			}
			a, ok := rr.(*mdns.A)
			switch {
			case !ok:
				s.t.Errorf("%s: %s", s.namespace, rr)
			case name == "fixed":
				if a.A.String() != fixedAddress {
					s.t.Errorf("%s: %s", s.namespace, rr)
				}
			default:
				ip := a.A.To4()
				n := uint32(ip[1])<<16 | uint32(ip[2])<<8 | uint32(ip[3])
				if ip[0] != 10 || n == 0 || n > written.Load() || n < last {
					s.t.Errorf("%s answers %s: the last one written is %d, and it answered %d before", s.namespace, rr, written.Load(), last)
				}
				last = n
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
}

type fault struct {
	name string
	do   func(at *site, hold time.Duration)
}

func (r *room) listFaults() []fault {
	all := []fault{
		{"kill named", func(at *site, _ time.Duration) { at.replaceNamed(false) }},
		{"kill named and empty its disk", func(at *site, _ time.Duration) { at.replaceNamed(true) }},
		{"cut named off", func(at *site, hold time.Duration) {
			at.disturbSite(func() {
				named := at.findProcesses(faulty, render.BINDContainer)[0]
				must.Succeed(at.world.t, syscall.Kill(named, syscall.SIGSTOP))
				time.Sleep(hold)
				must.Succeed(at.world.t, syscall.Kill(named, syscall.SIGCONT))
			})
		}},
		{"kill the agent", func(at *site, _ time.Duration) {
			at.mending.Lock()
			defer at.mending.Unlock()
			at.killContainer(faulty, render.AgentContainer)
		}},
		{"lose the agent's Secret", func(at *site, _ time.Duration) { r.deleteSecret(at, render.AgentSecretName(faulty)) }},
		{"lose the TSIG Secret", func(at *site, _ time.Duration) { r.deleteSecret(at, render.TransferSecretName("prod")) }},
		{"lose the Secret of the control channel", func(at *site, _ time.Duration) { r.loseControl(at) }},
		{"kill the primary", func(_ *site, hold time.Duration) { r.killService(r.primary, hold) }},
		{"kill the controller", func(_ *site, hold time.Duration) { r.killService(r.controller, hold) }},
		{"cut the primary off", func(_ *site, hold time.Duration) {
			r.common.Lock()
			defer r.common.Unlock()
			if process := r.primary.process.Load(); process.Pause() == nil {
				time.Sleep(hold)
				_ = process.Signal(syscall.SIGCONT)
			}
		}},
		{"stop the fleet", func(_ *site, hold time.Duration) {
			r.common.Lock()
			defer r.common.Unlock()
			r.stop()
			time.Sleep(hold)
			r.runFleetWith(r.config)
		}},
		{"kill the API server and its etcd", func(_ *site, hold time.Duration) { r.replaceServer(hold) }},
		{"cut kube-apiserver off", func(_ *site, hold time.Duration) {
			r.common.Lock()
			defer r.common.Unlock()
			if err := r.kube.Pause(); err == nil {
				time.Sleep(hold)
				_ = r.kube.Resume()
			}
		}},
	}
	rig.Need(rig.Find("cc", "apt-get install gcc libc6-dev"))(r.t)
	clock := string(must.Get(os.ReadFile("testdata/clock.c"))(r.world.t))
	// Ten minutes are twice the fudge of a signature (RFC 8945 §5.2.3). The server transfers nothing meanwhile, so it
	// need not answer.
	all = append(all, fault{"a wrong clock", func(at *site, hold time.Duration) {
		at.disturbSite(func() {
			at.runInPod(faulty, "sh", "-c", `echo "$0" | cc -shared -fPIC -O1 -x c -o /tmp/clock.so -`, clock)
			at.node.SetEnvironment(at.namespace, render.BINDContainer, "LD_PRELOAD=/tmp/clock.so")
			at.killNamed(false)
			time.Sleep(hold)
			at.node.SetEnvironment(at.namespace, render.BINDContainer)
			at.killNamed(false)
		})
	}})
	return all
}

// disturbSite returns when the site answers again.
func (s *site) disturbSite(do func()) {
	s.mending.Lock()
	defer s.mending.Unlock()
	s.disturbed.Store(true)
	do()
	for until := time.Now().Add(waitTimeout); s.ctx.Err() == nil; {
		rr, code, err := s.askSite(s.ctx, "fixed.faults.example.", mdns.TypeA)
		if rr != nil {
			break
		}
		if time.Now().After(until) {
			s.t.Errorf("%s does not answer again: %s %v", s.namespace, code, err)
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	s.disturbed.Store(false)
	s.replaced.Store(false)
}

func (s *site) replaceNamed(empty bool) {
	s.disturbSite(func() { s.killNamed(empty) })
}

func (s *site) killNamed(empty bool) {
	s.replaced.Store(true)
	if empty {
		s.emptyState(faulty)
	}
	s.killContainer(faulty, render.BINDContainer)
}

func (r *room) deleteSecret(at *site, name string) {
	r.persistUntilDone(func(ctx context.Context) error {
		err := r.core.CoreV1().Secrets(at.namespace).Delete(ctx, name, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// Without the control channel's key, the pod is replaced, with an empty disk.
func (r *room) loseControl(at *site) {
	at.disturbSite(func() {
		at.replaced.Store(true)
		waitForAnother := func(former types.UID) (uid types.UID) {
			at.waitUntil("another pod is the only one", func() error {
				now := at.podUIDs()
				if len(now) != 1 || now[0] == former {
					return fmt.Errorf("pods %q, after %q", now, former)
				}
				uid = now[0]
				return nil
			})
			return uid
		}
		former := waitForAnother("")
		r.deleteSecret(at, render.RNDCSecretName(faulty))
		waitForAnother(former)
	})
}

func (r *room) killService(s *service, hold time.Duration) {
	r.common.Lock()
	defer r.common.Unlock()
	s.down.Lock()
	defer s.down.Unlock()
	s.killed.Store(true)
	s.process.Load().Kill()
	time.Sleep(hold)
}

func (r *room) replaceServer(hold time.Duration) {
	r.common.Lock()
	defer r.common.Unlock()
	r.server.Kill()
	<-r.server.Ended()
	time.Sleep(hold)
	if err := r.startServer(r.ctx); err != nil && r.ctx.Err() == nil {
		r.t.Errorf("the API server does not start again: %v", err)
	}
}

// waitEverySerial also requires that deleted zones are gone.
func (r *room) waitEverySerial() {
	want := addressOf(r.written.Load())
	ctx, cancel := context.WithTimeout(r.ctx, waitTimeout)
	defer cancel()
	rig.Until(ctx, r.t, "every server has every serial", func() error {
		zones, err := r.kubizone.KubizoneV1alpha1().Zones(r.namespace).List(r.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range zones.Items {
			zone := &zones.Items[i]
			for _, one := range r.sites {
				rr, code, err := one.askSite(r.ctx, zone.Spec.DomainName, mdns.TypeSOA)
				if err != nil {
					return err
				}
				if soa, ok := rr.(*mdns.SOA); !ok || int64(soa.Serial) != zone.Status.Serial {
					return fmt.Errorf("%s answers %v %s for %s, which has serial %d", one.namespace, rr, code, zone.Spec.DomainName, zone.Status.Serial)
				}
			}
			if err := expectCondition(zone.Status.Conditions, "Ready", "True"); err != nil {
				return fmt.Errorf("%s: %w", zone.Name, err)
			}
		}
		for _, one := range r.sites {
			rr, code, err := one.askSite(r.ctx, "www.faults.example.", mdns.TypeA)
			if a, ok := rr.(*mdns.A); err != nil || !ok || a.A.String() != want {
				return fmt.Errorf("%s answers %v %s %v, want %s", one.namespace, rr, code, err, want)
			}
			instance, err := r.kubizone.Bind9V1alpha1().Bind9Instances(one.namespace).Get(r.ctx, faulty, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for condition, status := range map[string]string{bind9.ConditionReady: "True", bind9.ConditionDegraded: "False", bind9.ConditionProgressing: "False"} {
				if err := expectCondition(instance.Status.Conditions, condition, status); err != nil {
					return fmt.Errorf("%s: %w", one.namespace, err)
				}
			}
		}
		return nil
	})
}
