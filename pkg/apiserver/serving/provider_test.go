// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	certutil "k8s.io/client-go/util/cert"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"
	apiregistrationv1client "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/typed/apiregistration/v1"
	testingclock "k8s.io/utils/clock/testing"
)

const (
	namespace  = "kubizone-system"
	secretName = "kubizone-apiserver-serving"
	apiService = "v1alpha1.kubi.zone"
	serverName = "kubizone-apiserver.kubizone-system.svc"
)

// cluster is kube-apiserver as far as the provider knows it: the fakes, made to refuse a stale resourceVersion.
type cluster struct {
	t           *testing.T
	core        *fake.Clientset
	aggregation *aggregatorfake.Clientset
	clock       *testingclock.FakeClock

	mu sync.Mutex
	// Each runs once, without any lock: what another replica does at that moment.
	beforePatch, afterSecretRead func()
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{t: t, core: fake.NewClientset(), aggregation: aggregatorfake.NewClientset(), clock: testingclock.NewFakeClock(time.Now())}
	secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	c.core.PrependReactor("create", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		secret := action.(clienttesting.CreateAction).GetObject().(*corev1.Secret).DeepCopy()
		secret.ResourceVersion = "1"
		return true, secret, c.core.Tracker().Create(secrets, secret, namespace)
	})
	c.core.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		secret := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret).DeepCopy()
		stored, err := c.core.Tracker().Get(secrets, namespace, secretName)
		if err != nil {
			return true, nil, err
		}
		if stored.(*corev1.Secret).ResourceVersion != secret.ResourceVersion {
			return true, nil, apierrors.NewConflict(secrets.GroupResource(), secretName, errors.New("stale"))
		}
		secret.ResourceVersion = next(secret.ResourceVersion)
		return true, secret, c.core.Tracker().Update(secrets, secret, namespace)
	})
	c.aggregation.PrependReactor("patch", "apiservices", func(action clienttesting.Action) (bool, runtime.Object, error) {
		var patch struct {
			Metadata struct{ ResourceVersion, UID string }
			Spec     struct{ CABundle []byte }
		}
		// C6: a field beyond these is an error.
		decoder := json.NewDecoder(bytes.NewReader(action.(clienttesting.PatchAction).GetPatch()))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&patch); err != nil {
			c.t.Error("patch of the APIService:", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		stored := c.registrationOf(action.(clienttesting.PatchAction).GetName()).DeepCopy()
		if patch.Metadata.ResourceVersion != stored.ResourceVersion {
			return true, nil, apierrors.NewConflict(schema.GroupResource{Resource: "apiservices"}, apiService, errors.New("stale"))
		}
		stored.Spec.CABundle = patch.Spec.CABundle
		stored.ResourceVersion = next(stored.ResourceVersion)
		return true, stored, c.aggregation.Tracker().Update(apiServices, stored, "")
	})
	return c
}

// The clients of a replica, with the moments at which another one may act.
type (
	secretsAt struct {
		corev1client.SecretsGetter
		*cluster
	}
	secretAt struct {
		corev1client.SecretInterface
		*cluster
	}
	apiServicesAt struct {
		apiregistrationv1client.APIServicesGetter
		*cluster
	}
	apiServiceAt struct {
		apiregistrationv1client.APIServiceInterface
		*cluster
	}
)

func (s secretsAt) Secrets(namespace string) corev1client.SecretInterface {
	return secretAt{s.SecretsGetter.Secrets(namespace), s.cluster}
}

func (s secretAt) Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.Secret, error) {
	secret, err := s.SecretInterface.Get(ctx, name, options)
	s.once(&s.afterSecretRead)
	return secret, err
}

func (a apiServicesAt) APIServices() apiregistrationv1client.APIServiceInterface {
	return apiServiceAt{a.APIServicesGetter.APIServices(), a.cluster}
}

func (a apiServiceAt) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*apiregistrationv1.APIService, error) {
	a.once(&a.beforePatch)
	return a.APIServiceInterface.Patch(ctx, name, kind, patch, options, subresources...)
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

func next(resourceVersion string) string {
	n, _ := strconv.Atoi(resourceVersion)
	return strconv.Itoa(n + 1)
}

func (c *cluster) once(hook *func()) {
	c.mu.Lock()
	do := *hook
	*hook = nil
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

// register applies the manifest of the APIService, as it is without caBundle.
func (c *cluster) register() { c.registerGroup("kubi.zone") }

func (c *cluster) registerGroup(group string) {
	c.t.Helper()
	if err := c.aggregation.Tracker().Add(&apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1." + group, ResourceVersion: "1"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: "v1alpha1",
			Service: &apiregistrationv1.ServiceReference{Namespace: namespace, Name: "kubizone-apiserver"},
		},
	}); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) registration() *apiregistrationv1.APIService { return c.registrationOf(apiService) }

func (c *cluster) registrationOf(name string) *apiregistrationv1.APIService {
	c.t.Helper()
	object, err := c.aggregation.Tracker().Get(apiServices, "", name)
	if err != nil {
		c.t.Fatal(err)
	}
	return object.(*apiregistrationv1.APIService)
}

func (c *cluster) change(do func(*apiregistrationv1.APIService)) {
	c.t.Helper()
	registration := c.registration().DeepCopy()
	do(registration)
	registration.ResourceVersion = next(registration.ResourceVersion)
	if err := c.aggregation.Tracker().Update(apiServices, registration, ""); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) secret() *corev1.Secret {
	c.t.Helper()
	object, err := c.core.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespace, secretName)
	if err != nil {
		c.t.Fatal(err)
	}
	return object.(*corev1.Secret)
}

func (c *cluster) deleteSecret() {
	c.t.Helper()
	if err := c.core.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespace, secretName); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) replica() *Provider {
	c.t.Helper()
	p, err := New(Config{
		Secrets: secretsAt{c.core.CoreV1(), c}, APIServices: apiServicesAt{c.aggregation.ApiregistrationV1(), c},
		Namespace: namespace, Secret: secretName, APIService: apiService, Hosts: []string{"localhost"}, Clock: c.clock,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *cluster) look(p *Provider) {
	c.t.Helper()
	if err := p.checkAll(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// asked is what kube-apiserver finds when it opens a connection to a replica: nil if it trusts the leaf.
func (c *cluster) asked(p *Provider) error {
	c.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.registration().Spec.CABundle)
	_, err := served(c.t, p).Verify(x509.VerifyOptions{DNSName: serverName, Roots: pool, CurrentTime: c.clock.Now()})
	return err
}

func (c *cluster) trusts(p *Provider) {
	c.t.Helper()
	if err := c.asked(p); err != nil {
		c.t.Errorf("kube-apiserver does not trust what is served: %v", err)
	}
}

func served(t *testing.T, p *Provider) *x509.Certificate {
	t.Helper()
	cert, key := p.CurrentCertKeyContent()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func authorities(t *testing.T, bundle []byte) int {
	t.Helper()
	certs, err := certutil.ParseCertsPEM(bundle)
	if err != nil {
		t.Fatal(err)
	}
	return len(certs)
}

type counter int

func (c *counter) Enqueue() { *c++ }

func TestFirstStart_makesACertificateThatKubeAPIServerTrusts(t *testing.T) {
	c := newCluster(t)
	c.register()
	p := c.replica()
	var told counter
	p.AddListener(&told)
	if err := p.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.trusts(p)
	if told != 1 {
		t.Errorf("listeners were told %d times", told)
	}
	if secret := c.secret(); secret.Type != corev1.SecretTypeTLS {
		t.Errorf("type %s", secret.Type)
	}
	if err := served(t, p).VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}

	before := c.registration().ResourceVersion
	for range 3 {
		c.clock.Step(interval)
		c.look(p)
	}
	if got := c.registration().ResourceVersion; got != before || told != 1 || c.secret().ResourceVersion != "1" {
		t.Errorf("with nothing to do something was written: APIService %s to %s, secret %s, told %d", before, got, c.secret().ResourceVersion, told)
	}
}

// C1: the second replica starts between the first one's look at the absent Secret and its write.
func TestFirstStart_ofTwoReplicasEndsWithOneCertificate(t *testing.T) {
	c := newCluster(t)
	c.register()
	first, second := c.replica(), c.replica()
	c.afterSecretRead = func() { c.look(second) }
	if err := first.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	a, _ := first.CurrentCertKeyContent()
	b, _ := second.CurrentCertKeyContent()
	if !bytes.Equal(a, b) {
		t.Error("two replicas serve two certificates")
	}
	c.trusts(first)
	c.trusts(second)
}

// C1, C4: the second replica renews between the first one's look and its write.
func TestRenewal_atTwoThirdsOfLifeUnderTheSameAuthority(t *testing.T) {
	c := newCluster(t)
	c.register()
	first, second := c.replica(), c.replica()
	c.look(first)
	c.look(second)
	was, bundle := served(t, first), c.registration().Spec.CABundle

	c.clock.Step(59 * 24 * time.Hour)
	c.look(first)
	if !served(t, first).Equal(was) {
		t.Error("renewed before two thirds of 90 days")
	}
	c.clock.Step(24 * time.Hour)
	c.afterSecretRead = func() { c.look(second) }
	c.look(first)
	if served(t, first).Equal(was) || !served(t, first).Equal(served(t, second)) {
		t.Error("after two thirds of its life the certificate is the old one, or replicas serve different ones")
	}
	if !bytes.Equal(bundle, c.registration().Spec.CABundle) {
		t.Error("a new leaf changed caBundle")
	}
	c.trusts(first)
	c.trusts(second)
}

// C2: at no moment does kube-apiserver meet a leaf whose authority it was not given before.
func TestAuthority_overlapsItsSuccessor(t *testing.T) {
	c := newCluster(t)
	c.register()
	p := c.replica()
	// Ten years pass in steps of a month, so that leaves are renewed on the way.
	for c.look(p); c.clock.Since(served(t, p).NotBefore) < leafLife && authorities(t, c.registration().Spec.CABundle) == 1; c.look(p) {
		c.trusts(p)
		c.clock.Step(30 * 24 * time.Hour)
	}
	if authorities(t, c.registration().Spec.CABundle) != 2 {
		t.Fatal("no second authority in two thirds of ten years")
	}
	old := served(t, p)
	oldBundle, _ := certutil.ParseCertsPEM(c.registration().Spec.CABundle)
	if err := old.CheckSignatureFrom(oldBundle[1]); err != nil {
		t.Errorf("the new leaf is served at once: %v", err)
	}
	c.trusts(p)

	c.clock.Step(settle - time.Second)
	c.look(p)
	if !served(t, p).Equal(old) {
		t.Error("the new leaf is served before every kube-apiserver can know its authority")
	}
	c.clock.Step(time.Second)
	c.look(p)
	if served(t, p).Equal(old) {
		t.Error("the new leaf is not served")
	}
	c.trusts(p)
	if n := authorities(t, c.registration().Spec.CABundle); n != 2 {
		t.Errorf("%d authorities: other replicas still serve leaves of the old one", n)
	}
	c.clock.Step(overlap)
	c.look(p)
	if n := authorities(t, c.registration().Spec.CABundle); n != 1 {
		t.Errorf("%d authorities after the overlap", n)
	}
	c.trusts(p)
}

// C4, C2: a deleted Secret is how an administrator asks for a new authority. The replica that makes it has just started
// and never saw the old one.
func TestSecretDeleted_isMadeAnewWithoutAGap(t *testing.T) {
	c := newCluster(t)
	c.register()
	p := c.replica()
	c.look(p)
	old := served(t, p)

	c.deleteSecret()
	young := c.replica()
	c.look(young)
	c.look(p)
	c.trusts(p)
	c.trusts(young)
	if !served(t, p).Equal(old) || served(t, young).Equal(old) {
		t.Error("what is served is not what it should be")
	}
	c.clock.Step(settle)
	c.look(p)
	if !served(t, p).Equal(served(t, young)) {
		t.Error("the replicas do not agree in the end")
	}
	c.trusts(p)
}

// C3: between a replica's look and its write of caBundle another one replaced the authority.
func TestCABundle_isNotPutBackByASlowReplica(t *testing.T) {
	c := newCluster(t)
	c.register()
	slow, fast := c.replica(), c.replica()
	c.look(slow)
	c.look(fast)

	c.change(func(registration *apiregistrationv1.APIService) { registration.Spec.CABundle = nil })
	c.beforePatch = func() {
		c.deleteSecret()
		c.look(fast)
	}
	if err := slow.checkAll(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("the slow replica wrote: %v", err)
	}
	if n := authorities(t, c.registration().Spec.CABundle); n != 2 {
		t.Errorf("%d authorities", n)
	}
	c.look(slow)
	c.trusts(slow)
	c.trusts(fast)
}

// C5
func TestGarbageInTheSecret_isNamedAndLeft(t *testing.T) {
	good := func(t *testing.T) (*cluster, *Provider) {
		c := newCluster(t)
		c.register()
		p := c.replica()
		c.look(p)
		return c, p
	}
	for name, test := range map[string]struct {
		spoil func(data, other map[string][]byte)
		says  string
	}{
		"a key is missing": {func(data, _ map[string][]byte) { delete(data, authorityKeyKey) }, `["ca.key"]`},
		"no PEM":           {func(data, _ map[string][]byte) { data[leafCertKey] = []byte("x") }, "tls.crt and tls.key: the certificate is not PEM"},
		"no authorities":   {func(data, _ map[string][]byte) { data[authorityCertKey] = []byte("x") }, "ca.crt: "},
		"another key":      {func(data, other map[string][]byte) { data[leafPrivateKey] = other[leafPrivateKey] }, "the key is not the certificate's"},
		"another authority": {func(data, other map[string][]byte) {
			data[authorityCertKey], data[authorityKeyKey] = other[authorityCertKey], other[authorityKeyKey]
		}, "tls.crt is not signed by the first certificate of ca.crt"},
		"certificate of cert-manager's": {func(data, other map[string][]byte) {
			delete(data, authorityKeyKey)
			data[leafCertKey] = other[leafCertKey]
		}, `["ca.key"]`},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := good(t)
			other, _ := good(t)
			secret := c.secret().DeepCopy()
			test.spoil(secret.Data, other.secret().Data)
			if err := c.core.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, secret, namespace); err != nil {
				t.Fatal(err)
			}
			err := c.replica().RunOnce(t.Context())
			if err == nil || !strings.Contains(err.Error(), namespace+"/"+secretName) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "delete it") {
				t.Errorf("a new replica says %v, want %q", err, test.says)
			}
			if err := p.RunOnce(t.Context()); err != nil {
				t.Errorf("a replica that serves: %v", err)
			}
			c.trusts(p)
			if fmt.Sprint(c.secret().Data) != fmt.Sprint(secret.Data) {
				t.Error("what could not be read was overwritten")
			}
		})
	}
}

// An administrator who grants no create of Secrets makes an empty one.
func TestEmptySecret_isFilled(t *testing.T) {
	c := newCluster(t)
	c.register()
	if err := c.core.Tracker().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace, ResourceVersion: "7"}, Type: corev1.SecretTypeOpaque}); err != nil {
		t.Fatal(err)
	}
	p := c.replica()
	c.look(p)
	c.trusts(p)
	if got := c.secret(); got.ResourceVersion != "8" || got.Type != corev1.SecretTypeOpaque {
		t.Errorf("resourceVersion %s, type %s", got.ResourceVersion, got.Type)
	}
}

// The server may be applied before the APIService: it serves at once and writes caBundle when there is one.
func TestAPIServiceAbsent_isWaitedFor(t *testing.T) {
	c := newCluster(t)
	p := c.replica()
	if err := p.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	was := served(t, p)
	if err := p.checkAll(t.Context()); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), apiService) {
		t.Errorf("an absent APIService is reported as %v", err)
	}
	if err := was.VerifyHostname(serverName); err == nil {
		t.Error("the name of a service that was not configured is covered")
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx, 1); close(done) }()
	c.step(retry)
	c.step(retry)
	c.register()
	c.step(2 * retry)
	c.eventually(func() bool { return len(c.registration().Spec.CABundle) > 0 })
	c.eventually(func() bool { return c.asked(p) == nil })
	cancel()
	<-done
}

// step lets a running provider look once.
func (c *cluster) step(d time.Duration) {
	c.t.Helper()
	c.eventually(c.clock.HasWaiters)
	c.clock.Step(d)
}

func (c *cluster) eventually(is func() bool) {
	c.t.Helper()
	for start := time.Now(); !is(); time.Sleep(time.Millisecond) {
		if time.Since(start) > 2*time.Minute {
			c.t.Fatal("not within two minutes")
		}
	}
}

func TestAPIService_thatCannotHaveACABundleIsExplained(t *testing.T) {
	for want, spoil := range map[string]func(*apiregistrationv1.APIService){
		"CustomResourceDefinition": func(r *apiregistrationv1.APIService) { r.Spec.Service = nil },
		"insecureSkipTLSVerify":    func(r *apiregistrationv1.APIService) { r.Spec.InsecureSkipTLSVerify = true },
	} {
		c := newCluster(t)
		c.register()
		c.change(spoil)
		p := c.replica()
		if err := p.checkAll(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if len(c.registration().Spec.CABundle) > 0 {
			t.Error("caBundle was written")
		}
		served(t, p)
	}
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, want := range []string{"clients", "namespace and name", "APIService", "host"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// Upstream's secure serving follows without a restart: the listener it is given sees the new leaf on the next
// connection.
func TestSecureServing_followsARenewal(t *testing.T) {
	c := newCluster(t)
	c.register()
	p := c.replica()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	info := server.SecureServingInfo{Listener: listener, Cert: p}
	stopped, _, err := info.Serve(nil, time.Second, stop)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { close(stop); <-stopped }()
	shown := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // only looked at
		if err != nil {
			return nil
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	c.eventually(func() bool { cert := shown(); return cert != nil && cert.Equal(served(t, p)) })
	was := shown()
	c.step(leafLife * 2 / 3)
	c.eventually(func() bool { cert := shown(); return !cert.Equal(was) && cert.Equal(served(t, p)) })
}

// Further APIServices of the server have the caBundle of the first, from the moment they are there; one that is not
// there, or that cannot be trusted, keeps nothing from the first.
func TestFurther_haveTheSameAuthorities(t *testing.T) {
	const name = "v1alpha1.bind9.kubi.zone"
	c := newCluster(t)
	c.register()
	p := c.replica()
	p.config.Further = []string{name}
	c.look(p)
	c.trusts(p)
	c.registerGroup("bind9.kubi.zone")
	c.look(p)
	if first, further := c.registration(), c.registrationOf(name); len(first.Spec.CABundle) == 0 || !bytes.Equal(first.Spec.CABundle, further.Spec.CABundle) {
		t.Errorf("%q and %q", first.Spec.CABundle, further.Spec.CABundle)
	}
	c.look(p)
	if version := c.registrationOf(name).ResourceVersion; version != "2" {
		t.Errorf("written again: resourceVersion %s", version)
	}
	insecure := c.registrationOf(name).DeepCopy()
	insecure.Spec.InsecureSkipTLSVerify, insecure.Spec.CABundle = true, nil
	if err := c.aggregation.Tracker().Update(apiServices, insecure, ""); err != nil {
		t.Fatal(err)
	}
	c.change(func(registration *apiregistrationv1.APIService) { registration.Spec.CABundle = nil })
	if err := p.checkAll(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
	c.trusts(p)
}
