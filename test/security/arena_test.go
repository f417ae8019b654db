// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	typed "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const waitTimeout = 2 * time.Minute

// The tenants, by namespace. No domain name contains the victim's words, so a text with such a word has it from the
// victim's objects.
const (
	victim   = "quietvictim"
	mallory  = "mallory"
	platform = "platform"
)

var home string

var started atomic.Bool

func TestMain(m *testing.M) {
	if of := os.Getenv(noiseOf); of != "" {
		if err := makeNoise(of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	rig.Main("security", func(dir string) (int, error) {
		home = dir
		code := m.Run()
		if started.Load() {
			if a, _ := shared(); a != nil {
				a.closeArena()
			}
		}
		return code, nil
	})
}

// arena is a control plane with a server, two tenants, and a platform team that shares a zone between them.
type arena struct {
	kube    *kuberig.Kube
	etcd    *kuberig.Etcd
	program string
	server  *kuberig.Server
	// kubeconfig is the servers', for kube-apiserver.
	kubeconfig string

	tenants map[string]*tenant
	admin   *tenant
}

type tenant struct {
	typed.KubizoneV1alpha1Interface

	namespace, kubeconfig string
	config                *rest.Config
	warnings              *warnings
}

func (t *tenant) records() typed.RecordInterface { return t.Records(t.namespace) }
func (t *tenant) zones() typed.ZoneInterface     { return t.Zones(t.namespace) }

type warnings struct {
	mu   sync.Mutex
	text []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) takeWarnings() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	messages := w.text
	w.text = nil
	return messages
}

var shared = sync.OnceValues(func() (*arena, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	a := &arena{tenants: map[string]*tenant{}}
	started.Store(true)
	if err := a.startArena(ctx); err != nil {
		a.closeArena()
		return nil, err
	}
	return a, nil
})

func (a *arena) startArena(ctx context.Context) (err error) {
	built := make(chan error, 1)
	go func() {
		var err error
		a.program, err = rig.Kubizone(ctx, home, "")
		built <- err
	}()
	a.kube, err = kuberig.StartKube(ctx, filepath.Join(home, "kube"), kuberig.KubeConfig{})
	if wrong := <-built; err == nil {
		err = wrong
	}
	if err != nil {
		return err
	}
	kubectl, err := rig.KubeProgram("kubectl")
	if err != nil {
		return err
	}
	if a.kubeconfig, err = a.kube.ServiceAccount(ctx, kuberig.InstallNamespace, kuberig.ServerName); err != nil {
		return err
	}
	// Server and tenants have only the rights of the installation.
	const deploy = "../../artifacts/deploy/base/"
	if out, err := exec.CommandContext(ctx, kubectl, "--kubeconfig", a.kube.AdminKubeconfig(), "apply", "-f", deploy+"rbac.yaml", "-f", deploy+"roles.yaml").CombinedOutput(); err != nil {
		return fmt.Errorf("rights: %w\n%s", err, out)
	}
	if a.etcd, err = kuberig.StartEtcd(ctx, filepath.Join(home, "etcd")); err != nil {
		return err
	}
	if a.server, err = kuberig.StartServer(ctx, filepath.Join(home, "server"), kuberig.ServerConfig{
		Program: a.program, Kube: a.kube, Kubeconfig: a.kubeconfig, Etcd: a.etcd.Endpoint,
	}); err != nil {
		return err
	}
	if err := a.kube.Aggregate(ctx, a.server.Addr, a.kube.ClusterCA.PEM); err != nil {
		return err
	}
	if _, _, err := a.kube.WaitAvailable(ctx, true); err != nil {
		return fmt.Errorf("%w\nthe server says:\n%s", err, a.server.Log())
	}
	if a.admin, err = a.reachTenant("", a.kube.AdminKubeconfig()); err != nil {
		return err
	}
	for _, namespace := range []string{victim, mallory, platform} {
		if err := a.joinTenant(ctx, namespace); err != nil {
			return err
		}
	}
	return a.makeVictims(ctx)
}

func (a *arena) joinTenant(ctx context.Context, namespace string) error {
	if err := a.kube.Namespace(ctx, namespace); err != nil {
		return err
	}
	user := namespace + "-user"
	kubeconfig, err := a.kube.Tenant(user, "tenants")
	if err != nil {
		return err
	}
	if err := a.kube.Bind(ctx, namespace, user, "kubizone-zone-admin"); err != nil {
		return err
	}
	if namespace != mallory {
		if err := a.kube.Bind(ctx, namespace, user, "kubizone-establisher"); err != nil {
			return err
		}
	}
	// Only tenants with this right contest: the contested names, which both may establish.
	rights := []rbacv1.PolicyRule{{
		APIGroups: []string{"kubi.zone"}, Resources: []string{"zones/establish"}, Verbs: []string{"create"}, ResourceNames: listContested(),
	}}
	if namespace == mallory {
		// A right of many tenants (attack 74).
		rights = append(rights, rbacv1.PolicyRule{APIGroups: []string{"kubi.zone"}, Resources: []string{"zones"}, Verbs: []string{"*"}})
		// The right given by a Role for all subresources of zones (attack 84).
		rights = append(rights, rbacv1.PolicyRule{APIGroups: []string{"kubi.zone"}, Resources: []string{"zones/dnssec"}, Verbs: []string{"*"}})
	}
	if err := a.kube.Grant(ctx, namespace, user, rights...); err != nil {
		return err
	}
	a.tenants[namespace], err = a.reachTenant(namespace, kubeconfig)
	return err
}

func (a *arena) reachTenant(namespace, kubeconfig string) (*tenant, error) {
	t := &tenant{namespace: namespace, kubeconfig: kubeconfig, warnings: &warnings{}}
	var err error
	if t.config, err = kuberig.ClientConfig(kubeconfig); err != nil {
		return nil, err
	}
	t.config.WarningHandler, t.config.Timeout = t.warnings, time.Minute
	client, err := versioned.NewForConfig(t.config)
	if err != nil {
		return nil, err
	}
	t.KubizoneV1alpha1Interface = client.KubizoneV1alpha1()
	return t, nil
}

// tenantAt bypasses the aggregator.
func (t *tenant) tenantAt(test *testing.T, server *kuberig.Server) *tenant {
	test.Helper()
	there := *t
	there.config = rest.CopyConfig(t.config)
	there.config.Host = server.URL()
	there.KubizoneV1alpha1Interface = must.Get(typed.NewForConfig(there.config))(test)
	return &there
}

func (a *arena) startBeside(ctx context.Context, t *testing.T, args ...string) *kuberig.Server {
	t.Helper()
	server, err := kuberig.StartServer(ctx, t.TempDir(), kuberig.ServerConfig{Program: a.program, Kube: a.kube, Kubeconfig: a.kubeconfig, Etcd: a.etcd.Endpoint, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

func (a *arena) runFsck(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, a.program, "fsck", "--etcd-servers", a.etcd.Endpoint).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no work is pending") {
		return fmt.Errorf("%v: %s", err, out)
	}
	return nil
}

func makeZone(namespace, name, domain string, rules ...v1alpha1.DelegationRule) *v1alpha1.Zone {
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.ZoneSpec{
		Limits:     &v1alpha1.ZoneLimits{MaxDeletePercent: new(int32(100))},
		DomainName: domain, Delegations: rules, NameServers: []v1alpha1.NameServer{{Name: "ns1", Addresses: []string{"192.0.2.53"}}},
	}}
}

func makeRecord(namespace, name, domain, kind string, values ...string) *v1alpha1.Record {
	return &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.RecordSpec{DomainName: domain, Type: kind, Values: values}}
}

func makeRule(namespace string, types []string, patterns ...string) v1alpha1.DelegationRule {
	d := v1alpha1.DelegationRule{Namespace: namespace}
	for _, p := range patterns {
		d.Records = append(d.Records, v1alpha1.RecordDelegation{Pattern: p, Types: types})
	}
	return d
}

// makeVictims creates the victim's own zone and a zone shared by the platform. There, mallory has A records at and
// below "team", zones below team, any type at and below "own", name servers at "deep" and the zone "kids".
func (a *arena) makeVictims(ctx context.Context) error {
	shared := makeZone(platform, "shared", "shared.example.",
		makeRule(platform, nil, "*", "@", "*.@"), makeRule(victim, nil, "*", "*.*"),
		makeRule(mallory, []string{"A", "AAAA"}, "team", "*.team"), makeRule(mallory, nil, "own", "*.own"),
		makeRule(mallory, []string{"NS"}, "dee*"),
		v1alpha1.DelegationRule{Namespace: mallory, Zones: []string{"kid*", "*.team"}})
	for _, z := range []*v1alpha1.Zone{makeZone(victim, "quietvictim-zone", "victim.example.", makeRule(victim, nil, "*", "@", "*.*",
		"*.@")), shared} {
		owner := a.tenants[z.Namespace]
		// The authorizer follows informers, and the right to establish is new.
		for {
			_, err := owner.Zones(z.Namespace).Create(ctx, z, metav1.CreateOptions{})
			if err == nil {
				break
			}
			if !apierrors.IsForbidden(err) || ctx.Err() != nil {
				return err
			}
			time.Sleep(100 * time.Millisecond)
		}
	}
	for _, r := range []*v1alpha1.Record{
		makeRecord(victim, "quietvictim-www", "www.victim.example.", "A", "192.0.2.1"),
		makeRecord(victim, "quietvictim-shop", "shop.shared.example.", "A", "192.0.2.1"),
		makeRecord(victim, "quietvictim-kid", "toys.kids.shared.example.", "A", "192.0.2.1"),
		makeRecord(victim, "quietvictim-deep", "a.deep.shared.example.", "A", "192.0.2.1"),
	} {
		if _, err := a.tenants[victim].records().Create(ctx, r, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

func (a *arena) closeArena() {
	if a.server != nil {
		a.server.Close()
	}
	if a.etcd != nil {
		a.etcd.Close()
	}
	if a.kube != nil {
		a.kube.Close()
	}
}

func requireArena(t *testing.T) *arena {
	t.Helper()
	return rig.Need(shared())(t)
}

var within, until = rig.Within, rig.Until

const (
	forbidden = http.StatusForbidden
	conflict  = http.StatusConflict
	invalid   = http.StatusUnprocessableEntity
	malformed = http.StatusBadRequest
	tooLarge  = http.StatusRequestEntityTooLarge
)

// expectRefusal: the answer has one of these codes, and its text reveals nothing of the victim and is safe in a
// terminal.
func expectRefusal(t *testing.T, what string, err error, codes ...int32) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: it is allowed", what)
		return
	}
	status, ok := err.(apierrors.APIStatus)
	if !ok {
		t.Errorf("%s: %v is no answer of the API", what, err)
		return
	}
	if code := status.Status().Code; !slices.Contains(codes, code) {
		t.Errorf("%s: %d, want %v: %v", what, code, codes, err)
	}
	revealsNothing(t, what, err.Error())
}

// refusedName: the answer is 422 for the object's name, with only this cause.
func refusedName(t *testing.T, what string, err error, cause metav1.CauseType) {
	t.Helper()
	expectRefusal(t, what, err, invalid)
	status, ok := err.(apierrors.APIStatus)
	if !ok || status.Status().Code != invalid {
		return // reported already
	}
	if all := refusal.Of(err); len(all) != 1 || all[0].Field != "spec.domainName" || all[0].Reason != cause {
		t.Errorf("%s: %v, want %s at spec.domainName", what, err, cause)
	}
}

// revealsNothing: a text has no word of the victim's, and no control character.
func revealsNothing(t *testing.T, what, text string) {
	t.Helper()
	if strings.Contains(text, victim) {
		t.Errorf("%s: it tells of the victim: %s", what, text)
	}
	for _, c := range text {
		if !unicode.IsPrint(c) && c != '\n' && c != '\t' {
			t.Errorf("%s: it says %q", what, text)
			break
		}
	}
}
