// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updatekey

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/dns/update"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/must"
)

// world is an API with UpdateKeys and Secrets. A status write on an outdated object conflicts.
type world struct {
	t      *testing.T
	client *fake.Clientset

	mu      sync.Mutex
	secrets map[string]map[string][]byte // by NAMESPACE/NAME
	broken  bool                         // status writes fail
	// conflicts makes each status write conflict.
	conflicts bool
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, client: fake.NewSimpleClientset(), secrets: map[string]map[string][]byte{}}
	w.client.PrependReactor("update", "updatekeys", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update := action.(clienttesting.UpdateAction)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.broken {
			return true, nil, errors.New("the API is away")
		}
		after := update.GetObject().(*v1alpha1.UpdateKey).DeepCopy()
		known, err := w.client.Tracker().Get(update.GetResource(), after.Namespace, after.Name)
		if err != nil {
			return true, nil, err
		}
		if w.conflicts || known.(*v1alpha1.UpdateKey).ResourceVersion != after.ResourceVersion {
			return true, nil, apierrors.NewConflict(v1alpha1.Resource("updatekeys"), after.Name, errors.New("it has changed"))
		}
		version := must.Get(strconv.Atoi(after.ResourceVersion))(t)
		after.ResourceVersion = strconv.Itoa(version + 1)
		return true, after, w.client.Tracker().Update(update.GetResource(), after, after.Namespace)
	})
	return w
}

// age is in hours; used is the recorded key name.
func (w *world) makeKey(at string, age time.Duration, used ...string) {
	w.t.Helper()
	namespace, name, _ := strings.Cut(at, "/")
	of := &v1alpha1.UpdateKey{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(at), ResourceVersion: "1",
		CreationTimestamp: metav1.NewTime(time.Unix(1e9, 0).Add(-age * time.Hour))}}
	of.Spec.TSIGSecretRef.Name, of.Status.KeyName = name, strings.Join(used, "")
	of.Spec.Records = []v1alpha1.UpdateKeyRecords{{Pattern: "*.example.org."}}
	must.Get(w.client.KubizoneV1alpha1().UpdateKeys(namespace).Create(w.t.Context(), of, metav1.CreateOptions{}))(w.t)
}

func (w *world) deleteKey(at string) {
	w.t.Helper()
	namespace, name, _ := strings.Cut(at, "/")
	must.Succeed(w.t, w.client.KubizoneV1alpha1().UpdateKeys(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}))
}

func octetsOf(at string) []byte { return []byte(fmt.Sprintf("%-32s", at)) }

// setSecret deletes the Secret if the name is empty.
func (w *world) setSecret(at, keyName string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secrets = maps.Clone(w.secrets); keyName == "" {
		delete(w.secrets, at)
		return
	}
	w.secrets[at] = map[string][]byte{"name": []byte(keyName), "secret": []byte(base64.StdEncoding.EncodeToString(octetsOf(at)))}
}

func (w *world) statusOf(at string) string {
	w.t.Helper()
	namespace, name, _ := strings.Cut(at, "/")
	of := must.Get(w.client.KubizoneV1alpha1().UpdateKeys(namespace).Get(w.t.Context(), name, metav1.GetOptions{}))(w.t)
	ready := meta.FindStatusCondition(of.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return strings.TrimSpace(of.Status.KeyName + " unknown")
	}
	return strings.TrimSpace(of.Status.KeyName + " " + ready.Reason)
}

// process cannot read the Secrets in blind.
type process struct {
	*world
	*Controller
	dns   *primary.Primary
	blind map[string]bool
}

func (p *process) Get(_ context.Context, namespace, name string) (map[string][]byte, error) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	if data := p.secrets[namespace+"/"+name]; data != nil && !p.blind[namespace+"/"+name] {
		return data, nil
	}
	return nil, secrets.ErrNotFound
}

// The process reconciles only when syncKeys is called.
func (w *world) startProcess(blind ...string) *process {
	w.t.Helper()
	dns := must.Get(primary.New(primary.Config{Zones: zoneview.NewSet(zoneview.Config{}), Updates: &Poster{},
		Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(w.t)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- dns.Run(ctx) }()
	p := &process{world: w, dns: dns, blind: map[string]bool{}}
	for _, at := range blind {
		p.blind[at] = true
	}
	informers := externalversions.NewSharedInformerFactory(w.client, 0)
	p.Controller = must.Get(New(Config{Primary: dns, Poster: &Poster{}, Keys: informers.Kubizone().V1alpha1().UpdateKeys(),
		Client: w.client, Secrets: p}))(w.t)
	informers.StartWithContext(ctx)
	informers.WaitForCacheSync(ctx.Done())
	w.t.Cleanup(func() {
		cancel()
		informers.Shutdown()
		<-ended
		dns.Close()
	})
	return p
}

func (p *process) lookAgain() {
	p.t.Helper()
	p.waitForInformer()
	must.Succeed(p.t, p.syncKeys(p.t.Context()))
}

func (p *process) waitForInformer() {
	p.t.Helper()
	must.Eventually(p.t, "the informer follows", func() bool {
		now := must.Get(p.client.KubizoneV1alpha1().UpdateKeys("").List(p.t.Context(), metav1.ListOptions{}))(p.t)
		known := p.Keys.Informer().GetStore().List()
		return len(known) == len(now.Items) && !slices.ContainsFunc(now.Items, func(of v1alpha1.UpdateKey) bool {
			return !slices.ContainsFunc(known, func(object any) bool {
				here := object.(*v1alpha1.UpdateKey)
				return here.UID == of.UID && here.ResourceVersion == of.ResourceVersion
			})
		})
	})
}

func (p *process) takesKey(at, keyName string) bool {
	p.t.Helper()
	c := &mdns.Client{TsigSecret: map[string]string{keyName: base64.StdEncoding.EncodeToString(octetsOf(at))}, Timeout: time.Minute}
	m := new(mdns.Msg).SetQuestion("example.org.", mdns.TypeSOA)
	m.SetTsig(keyName, mdns.HmacSHA256, 300, time.Now().Unix())
	answer, _, err := c.Exchange(m, p.dns.Addr().String())
	if answer == nil {
		p.t.Fatalf("%s by %s: %v", keyName, at, err)
	}
	return answer.Rcode != mdns.RcodeNotAuth
}

// isOf requires that each process accepts the name only with holder's key.
func isOf(t *testing.T, keyName, holder string, others []string, at ...*process) {
	t.Helper()
	for i, p := range at {
		for _, one := range append([]string{holder}, others...) {
			if got, want := p.takesKey(one, keyName), one == holder; got != want {
				t.Errorf("primary %d takes %s of %s: %v, want %v", i, keyName, one, got, want)
			}
		}
	}
}

// An older UpdateKey's Secret appears after a younger key has used the name (attack 102): with the same primary,
// after a restart, and at a primary that sees the older first.
func TestUpdateKey_nameInUseIsNotTaken_S13_3(t *testing.T) {
	for _, name := range []string{"dhcp-key.", "dhcp.example.org."} {
		w := newWorld(t)
		w.makeKey("mallory/sleeper", 2)
		w.makeKey("victim/acme", 1)
		w.setSecret("victim/acme", name)
		p := w.startProcess()
		p.lookAgain()
		isOf(t, name, "victim/acme", []string{"mallory/sleeper"}, p)
		w.setSecret("mallory/sleeper", name)
		p.lookAgain()
		again := w.startProcess()
		again.lookAgain()
		blind := w.startProcess("victim/acme")
		blind.lookAgain()
		if blind.takesKey("mallory/sleeper", name) {
			t.Errorf("%s is the sleeper's where the Secret of its user is not seen", name)
		}
		p.lookAgain()
		again.lookAgain()
		isOf(t, name, "victim/acme", []string{"mallory/sleeper"}, p, again)
		if got, want := w.statusOf("victim/acme"), name+" Served"; got != want {
			t.Errorf("the user is told %s, want %s", got, want)
		}
		if got := w.statusOf("mallory/sleeper"); got != "KeyNameTaken" {
			t.Errorf("the sleeper is told %s", got)
		}
		// A user without a Secret keeps the name.
		w.setSecret("victim/acme", "")
		p.lookAgain()
		victim := must.Get(w.client.KubizoneV1alpha1().UpdateKeys("victim").Get(t.Context(), "acme", metav1.GetOptions{}))(t)
		if ready := meta.FindStatusCondition(victim.Status.Conditions, v1alpha1.ConditionReady); ready == nil ||
			ready.Message != "there is no Secret victim/acme; make it in namespace victim" {
			t.Errorf("without its Secret: %+v", ready)
		}
		if p.takesKey("mallory/sleeper", name) || w.statusOf("mallory/sleeper") != "KeyNameTaken" {
			t.Errorf("the name of a user without a Secret is given away")
		}
		w.setSecret("victim/acme", name)
		p.lookAgain()
		isOf(t, name, "victim/acme", []string{"mallory/sleeper"}, p)
		// A deleted UpdateKey frees the name; its successor is another UpdateKey.
		w.deleteKey("victim/acme")
		p.lookAgain()
		w.makeKey("victim/acme", 0)
		p.lookAgain()
		isOf(t, name, "mallory/sleeper", []string{"victim/acme"}, p)
	}
}

// A key name LABEL.NAMESPACE. belongs to that namespace, even if no UpdateKey there uses it, and so do the names of its
// servers. Any other name belongs to the UpdateKey that uses it first (S13.3, attack 104).
func TestUpdateKey_nameOfANamespace_S13_3(t *testing.T) {
	w := newWorld(t)
	p := w.startProcess()
	const taken = v1alpha1.ReasonKeyNameTaken
	for i, test := range []struct{ name, reason string }{
		{"acme.mallory.", reasonServed}, {"ACME2.Mallory", reasonServed}, {"acme.victim.", taken}, {"acm\\101.victim.", taken},
		{"acme.org.", taken}, {"vm.bind9.victim.", taken}, {"vm.bind9.mallory.", taken}, {"dhcp.example.org.", reasonServed},
		{"dhcp-key.", reasonServed}, {"acme\\.victim.", reasonServed}, {"x.acme.victim.", reasonServed}, {"bind9.mallory.", reasonServed},
	} {
		at := fmt.Sprintf("mallory/k-%d", i)
		w.makeKey(at, time.Duration(i))
		w.setSecret(at, test.name)
		p.lookAgain()
		if got := w.statusOf(at); !strings.HasSuffix(got, test.reason) {
			t.Errorf("%s: %s, want %s", test.name, got, test.reason)
		}
		if got, want := p.takesKey(at, mdns.CanonicalName(test.name)), test.reason == reasonServed; got != want {
			t.Errorf("%s: the primary takes it: %v, want %v", test.name, got, want)
		}
	}
	of := must.Get(w.client.KubizoneV1alpha1().UpdateKeys("mallory").Get(t.Context(), "k-2", metav1.GetOptions{}))(t)
	if why := of.Status.Conditions[0].Message; !strings.Contains(why, "name the key acme.mallory., ") {
		t.Errorf("the next step is missing: %s", why)
	}
}

// A namespace may have a limited number of UpdateKeys. A suspended UpdateKey does not count. One whose Secret is
// missing counts, because the controller watches the Secret (S13.9).
func TestUpdateKey_suspendedUsesNoPlace_S13_9(t *testing.T) {
	w := newWorld(t)
	for i := range maxKeys {
		w.makeKey(fmt.Sprintf("team/k-%d", i), time.Duration(maxKeys-i))
	}
	w.makeKey("team/young", 0)
	w.setSecret("team/young", "dhcp-key.")
	p := w.startProcess()
	p.lookAgain()
	if got := w.statusOf("team/young"); got != string(delivery.ReasonQuotaExceeded) {
		t.Errorf("beside %d older keys it is told %s", maxKeys, got)
	}
	keys := w.client.KubizoneV1alpha1().UpdateKeys("team")
	of := must.Get(keys.Get(t.Context(), "k-7", metav1.GetOptions{}))(t)
	of.Spec.Suspended = true
	must.Get(keys.Update(t.Context(), of, metav1.UpdateOptions{}))(t)
	p.lookAgain()
	if got, suspended := w.statusOf("team/young"), w.statusOf("team/k-7"); got != "dhcp-key. Served" || suspended != reasonSuspended {
		t.Errorf("beside %d older keys and a suspended one, told %s, it is told %s", maxKeys-1, suspended, got)
	}
}

// Two primaries see different Secrets and assign the same key name at the same time. When both see all Secrets, they
// and a third primary agree on the one UpdateKey that has the name (S13.3).
func TestUpdateKey_twoPrimariesAgree_S13_3(t *testing.T) {
	w := newWorld(t)
	for _, at := range []string{"a/one", "b/two"} {
		w.makeKey(at, 0)
		w.setSecret(at, "dhcp-key.")
	}
	first, second := w.startProcess("a/one"), w.startProcess("b/two")
	var both sync.WaitGroup
	for _, p := range []*process{first, second} {
		both.Go(func() { _ = p.syncKeys(t.Context()) })
	}
	both.Wait()
	clear(first.blind)
	clear(second.blind)
	third := w.startProcess()
	for range 2 {
		for _, p := range []*process{third, second, first} {
			p.lookAgain()
		}
	}
	holder, other := "a/one", "b/two"
	if w.statusOf(other) == "dhcp-key. Served" {
		holder, other = other, holder
	}
	isOf(t, "dhcp-key.", holder, []string{other}, first, second, third)
	if w.statusOf(holder) != "dhcp-key. Served" || !strings.HasSuffix(w.statusOf(other), "KeyNameTaken") {
		t.Errorf("%s is told %s, %s %s", holder, w.statusOf(holder), other, w.statusOf(other))
	}
}

// Two primaries may record the same key name for two UpdateKeys at the same time. Then the older UpdateKey has the
// name, or that with the smaller uid if both are equally old. This holds also while its Secret is missing (S13.3).
func TestUpdateKey_recordedTwice_S13_3(t *testing.T) {
	for _, age := range []time.Duration{0, 1} {
		w := newWorld(t)
		w.makeKey("b/one", age, "dhcp-key.")
		other := []string{"c/two", "a/two"}[age]
		w.makeKey(other, 0, "dhcp-key.")
		w.setSecret(other, "dhcp-key.")
		p := w.startProcess()
		p.lookAgain()
		if p.takesKey(other, "dhcp-key.") || w.statusOf(other) != "dhcp-key. KeyNameTaken" {
			t.Errorf("%s is told %s while the Secret of b/one is away", other, w.statusOf(other))
		}
		w.setSecret("b/one", "dhcp-key.")
		p.lookAgain()
		isOf(t, "dhcp-key.", "b/one", []string{other}, p)
	}
}

// A primary accepts a key only after it has written the key's name into the UpdateKey's status. Otherwise another
// primary could give the name to another UpdateKey at the same time (S13.3).
func TestUpdateKey_isServedWhenItsStatusSaysSo_S13_3(t *testing.T) {
	w := newWorld(t)
	w.makeKey("victim/acme", 1)
	w.setSecret("victim/acme", "acme.victim.")
	w.broken = true
	p := w.startProcess()
	p.waitForInformer()
	if err := p.syncKeys(t.Context()); err == nil {
		t.Error("no error where no status can be written")
	}
	if p.takesKey("victim/acme", "acme.victim.") {
		t.Error("a key is served of which the API does not know")
	}
	w.broken = false
	p.lookAgain()
	isOf(t, "acme.victim.", "victim/acme", nil, p)
}

// A TSIG key name that a class uses belongs to the class. It takes the name even from an UpdateKey in use, which gets
// KeyNameTaken, and has the name again when the class ends (S13.3).
func TestUpdateKey_comesBehindClasses_S13_3(t *testing.T) {
	w := newWorld(t)
	w.makeKey("victim/acme", 1)
	w.makeKey("victim/late", 0)
	w.setSecret("victim/acme", "dhcp-key.")
	p := w.startProcess()
	p.lookAgain()
	key := must.Get(tsig.NewKey("dhcp-key.", tsig.HMACSHA256, octetsOf("platform")))(t)
	other := must.Get(tsig.NewKey("late-key.", tsig.HMACSHA256, octetsOf("platform")))(t)
	edge := must.Get(p.dns.AddClass(primary.ClassConfig{Name: "edge", Keys: []tsig.Key{key, other},
		Allow: []primary.Rule{{Key: key.Name}, {Key: other.Name}}}, primary.Membership{Serial: 1}))(t)
	w.setSecret("victim/late", "late-key.")
	p.lookAgain()
	isOf(t, "dhcp-key.", "platform", []string{"victim/acme"}, p)
	if got := w.statusOf("victim/acme") + ", " + w.statusOf("victim/late"); got != "dhcp-key. KeyNameTaken, KeyNameTaken" {
		t.Errorf("they are told %s", got)
	}
	edge.Close()
	p.lookAgain()
	isOf(t, "dhcp-key.", "victim/acme", nil, p)
	isOf(t, "late-key.", "victim/late", nil, p)
}

// The result of the last update is written into the UpdateKey's status. It gets there even after a conflict or an
// outage of the API, and it never replaces a later result that another primary has written.
func TestUpdateKey_keepsOutcomes(t *testing.T) {
	w := newWorld(t)
	w.makeKey("team/acme", 1)
	w.setSecret("team/acme", "acme.team.")
	p := w.startProcess()
	p.lookAgain()
	keys := w.client.KubizoneV1alpha1().UpdateKeys("team")
	read := func() *v1alpha1.UpdateKey {
		t.Helper()
		return must.Get(keys.Get(t.Context(), "acme", metav1.GetOptions{}))(t)
	}
	p.Poster.noteOutcome("team/acme", update.NoError, &v1alpha1.UpdateRequestStatus{Serial: 7}, nil)
	p.outcomesTakenAt = time.Time{}
	w.broken = true
	p.waitForInformer()
	if err := p.syncKeys(t.Context()); err == nil {
		t.Error("no error while the API is away")
	}
	p.Poster.noteOutcome("team/acme", update.Refused, &v1alpha1.UpdateRequestStatus{Message: "no rule"}, nil)
	w.broken, w.conflicts, p.outcomesTakenAt = false, true, time.Time{}
	must.Succeed(t, p.syncKeys(t.Context()))
	w.conflicts = false
	p.lookAgain()
	status := read().Status
	if status.LastUpdate == nil || status.LastUpdate.Serial != 7 || status.LastRefusal == nil || status.LastRefusal.Message != "no rule" {
		t.Errorf("%+v, %+v", status.LastUpdate, status.LastRefusal)
	}
	p.Poster.noteOutcome("team/acme", update.NoError, &v1alpha1.UpdateRequestStatus{Serial: 8}, nil)
	of := read()
	of.Status.LastUpdate = &v1alpha1.UpdateKeyUpdate{Time: metav1.NewTime(time.Now().Add(time.Minute).Truncate(time.Second)), Serial: 9}
	must.Get(keys.UpdateStatus(t.Context(), of, metav1.UpdateOptions{}))(t)
	p.outcomesTakenAt = time.Time{}
	p.lookAgain()
	if got := read().Status.LastUpdate.Serial; got != 9 {
		t.Errorf("the last update has serial %d", got)
	}
}

// slowSecrets answer after their release.
type slowSecrets struct{ asked, released chan struct{} }

func (s slowSecrets) Get(ctx context.Context, _, _ string) (map[string][]byte, error) {
	select {
	case s.asked <- struct{}{}:
	default:
	}
	select {
	case <-s.released:
	case <-ctx.Done():
	}
	return map[string][]byte{"name": []byte("k."), "algorithm": []byte("hmac-sha256"),
		"secret": []byte("MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")}, ctx.Err()
}

// A primary that starts has to know the update keys before it answers: the answer NOTAUTH for a key that it has not
// read yet would be final for the client. So the controller is in sync only when the keys are served.
func TestController_isInSyncOnceTheKeysAreServed(t *testing.T) {
	client := fake.NewSimpleClientset()
	must.Get(client.KubizoneV1alpha1().UpdateKeys("team").Create(t.Context(), &v1alpha1.UpdateKey{
		ObjectMeta: metav1.ObjectMeta{Name: "k", UID: "1"},
		Spec:       v1alpha1.UpdateKeySpec{TSIGSecretRef: v1alpha1.UpdateKeySecret{Name: "k"}},
	}, metav1.CreateOptions{}))(t)
	dns := must.Get(primary.New(primary.Config{Zones: zoneview.NewSet(zoneview.Config{}), Updates: &Poster{},
		Listen: netip.MustParseAddrPort("127.0.0.1:0")}))(t)
	defer dns.Close()
	secrets := slowSecrets{make(chan struct{}, 1), make(chan struct{})}
	informers := externalversions.NewSharedInformerFactory(client, 0)
	c := must.Get(New(Config{Primary: dns, Poster: &Poster{}, Keys: informers.Kubizone().V1alpha1().UpdateKeys(), Client: client,
		Secrets: secrets, WaitFirst: func(context.Context) error { return nil }}))(t)
	informers.Start(t.Context().Done())
	go c.Run(t.Context())
	<-secrets.asked
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if c.WaitForSync(soon) == nil {
		t.Error("in sync before the Secret of the key was read")
	}
	close(secrets.released)
	must.Succeed(t, c.WaitForSync(t.Context()))
	served := must.Get(client.KubizoneV1alpha1().UpdateKeys("team").Get(t.Context(), "k", metav1.GetOptions{}))(t)
	if served.Status.KeyName != "k." {
		t.Errorf("in sync, and its status is %+v", served.Status)
	}
}
