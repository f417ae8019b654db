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

	"kubi.zone/kubizone/test/must"
)

const (
	namespace  = "kubizone-system"
	secretName = "kubizone-apiserver-serving"
	apiService = "v1alpha1.kubi.zone"
	serverName = "kubizone-apiserver.kubizone-system.svc"
)

// cluster plays kube-apiserver: fakes that refuse a stale resourceVersion.
type cluster struct {
	t           *testing.T
	core        *fake.Clientset
	aggregation *aggregatorfake.Clientset
	clock       *testingclock.FakeClock

	mu sync.Mutex
	// Hooks run once, without a lock: another replica's concurrent action.
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
		secret.ResourceVersion = incrementVersion(secret.ResourceVersion)
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
		stored.ResourceVersion = incrementVersion(stored.ResourceVersion)
		return true, stored, c.aggregation.Tracker().Update(apiServices, stored, "")
	})
	return c
}

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
	s.runOnce(&s.afterSecretRead)
	return secret, err
}

func (a apiServicesAt) APIServices() apiregistrationv1client.APIServiceInterface {
	return apiServiceAt{a.APIServicesGetter.APIServices(), a.cluster}
}

func (a apiServiceAt) Patch(ctx context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*apiregistrationv1.APIService, error) {
	a.runOnce(&a.beforePatch)
	return a.APIServiceInterface.Patch(ctx, name, kind, patch, options, subresources...)
}

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

func incrementVersion(resourceVersion string) string {
	n, _ := strconv.Atoi(resourceVersion)
	return strconv.Itoa(n + 1)
}

func (c *cluster) runOnce(hook *func()) {
	c.mu.Lock()
	do := *hook
	*hook = nil
	c.mu.Unlock()
	if do != nil {
		do()
	}
}

func (c *cluster) registerAPI() { c.registerGroup("kubi.zone") }

func (c *cluster) registerGroup(group string) {
	c.t.Helper()
	must.Succeed(c.t, c.aggregation.Tracker().Add(&apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1alpha1." + group, ResourceVersion: "1"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: group, Version: "v1alpha1",
			Service: &apiregistrationv1.ServiceReference{Namespace: namespace, Name: "kubizone-apiserver"},
		},
	}))
}

func (c *cluster) readRegistration() *apiregistrationv1.APIService {
	return c.registrationOf(apiService)
}

func (c *cluster) registrationOf(name string) *apiregistrationv1.APIService {
	c.t.Helper()
	object := must.Get(c.aggregation.Tracker().Get(apiServices, "", name))(c.t)
	return object.(*apiregistrationv1.APIService)
}

func (c *cluster) changeRegistration(do func(*apiregistrationv1.APIService)) {
	c.t.Helper()
	registration := c.readRegistration().DeepCopy()
	do(registration)
	registration.ResourceVersion = incrementVersion(registration.ResourceVersion)
	must.Succeed(c.t, c.aggregation.Tracker().Update(apiServices, registration, ""))
}

func (c *cluster) readSecret() *corev1.Secret {
	c.t.Helper()
	object := must.Get(c.core.Tracker().Get(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespace, secretName))(c.t)
	return object.(*corev1.Secret)
}

func (c *cluster) deleteSecret() {
	c.t.Helper()
	must.Succeed(c.t, c.core.Tracker().Delete(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, namespace, secretName))
}

func (c *cluster) startReplica() *Provider {
	c.t.Helper()
	return must.Get(New(Config{
		Secrets: secretsAt{c.core.CoreV1(), c}, APIServices: apiServicesAt{c.aggregation.ApiregistrationV1(), c},
		Namespace: namespace, Secret: secretName, APIService: apiService, Hosts: []string{"localhost"}, Clock: c.clock,
	}))(c.t)
}

func (c *cluster) checkReplica(p *Provider) {
	c.t.Helper()
	must.Succeed(c.t, p.checkAll(c.t.Context()))
}

func (c *cluster) verifyReplica(p *Provider) error {
	c.t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(c.readRegistration().Spec.CABundle)
	_, err := parseLeaf(c.t, p).Verify(x509.VerifyOptions{DNSName: serverName, Roots: pool, CurrentTime: c.clock.Now()})
	return err
}

func (c *cluster) expectTrust(p *Provider) {
	c.t.Helper()
	if err := c.verifyReplica(p); err != nil {
		c.t.Errorf("kube-apiserver does not trust what is served: %v", err)
	}
}

func parseLeaf(t *testing.T, p *Provider) *x509.Certificate {
	t.Helper()
	cert, key := p.CurrentCertKeyContent()
	pair := must.Get(tls.X509KeyPair(cert, key))(t)
	return pair.Leaf
}

func countAuthorities(t *testing.T, bundle []byte) int {
	t.Helper()
	certs := must.Get(certutil.ParseCertsPEM(bundle))(t)
	return len(certs)
}

type counter int

func (c *counter) Enqueue() { *c++ }

func TestFirstStart_makesACertificateThatKubeAPIServerTrusts(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	p := c.startReplica()
	var reported counter
	p.AddListener(&reported)
	must.Succeed(t, p.RunOnce(t.Context()))
	c.expectTrust(p)
	if reported != 1 {
		t.Errorf("listeners were told %d times", reported)
	}
	if secret := c.readSecret(); secret.Type != corev1.SecretTypeTLS {
		t.Errorf("type %s", secret.Type)
	}
	if err := parseLeaf(t, p).VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}

	before := c.readRegistration().ResourceVersion
	for range 3 {
		c.clock.Step(interval)
		c.checkReplica(p)
	}
	if got := c.readRegistration().ResourceVersion; got != before || reported != 1 || c.readSecret().ResourceVersion != "1" {
		t.Errorf("with nothing to do something was written: APIService %s to %s, secret %s, told %d", before, got,
			c.readSecret().ResourceVersion, reported)
	}
}

// Two replicas start together: the second creates the Secret after the first has read that it is absent, and before the
// first writes. Both then serve the same certificate, because the first takes over what it finds stored (C1).
func TestFirstStart_ofTwoReplicasEndsWithOneCertificate(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	first, second := c.startReplica(), c.startReplica()
	c.afterSecretRead = func() { c.checkReplica(second) }
	must.Succeed(t, first.RunOnce(t.Context()))
	a, _ := first.CurrentCertKeyContent()
	b, _ := second.CurrentCertKeyContent()
	if !bytes.Equal(a, b) {
		t.Error("two replicas serve two certificates")
	}
	c.expectTrust(first)
	c.expectTrust(second)
}

// A replica renews the serving certificate after two thirds of its life, under the same authority, so caBundle stays.
// If a second replica renews between the first's read and write of the Secret, both end up with the same certificate
// (C1, C4).
func TestRenewal_atTwoThirdsOfLifeUnderTheSameAuthority(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	first, second := c.startReplica(), c.startReplica()
	c.checkReplica(first)
	c.checkReplica(second)
	was, bundle := parseLeaf(t, first), c.readRegistration().Spec.CABundle

	c.clock.Step(59 * 24 * time.Hour)
	c.checkReplica(first)
	if !parseLeaf(t, first).Equal(was) {
		t.Error("renewed before two thirds of 90 days")
	}
	c.clock.Step(24 * time.Hour)
	c.afterSecretRead = func() { c.checkReplica(second) }
	c.checkReplica(first)
	if parseLeaf(t, first).Equal(was) || !parseLeaf(t, first).Equal(parseLeaf(t, second)) {
		t.Error("after two thirds of its life the certificate is the old one, or replicas serve different ones")
	}
	if !bytes.Equal(bundle, c.readRegistration().Spec.CABundle) {
		t.Error("a new leaf changed caBundle")
	}
	c.expectTrust(first)
	c.expectTrust(second)
}

// Before an authority expires, its successor is added to the APIService's caBundle. Certificates of the new authority
// are served only after a delay, so that every kube-apiserver trusts them by then (C2).
func TestAuthority_overlapsItsSuccessor(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	p := c.startReplica()
	// Ten years in steps of a month, with renewals of leaves.
	for c.checkReplica(p); c.clock.Since(parseLeaf(t, p).NotBefore) < leafLife &&
		countAuthorities(t, c.readRegistration().Spec.CABundle) == 1; c.checkReplica(p) {
		c.expectTrust(p)
		c.clock.Step(30 * 24 * time.Hour)
	}
	if countAuthorities(t, c.readRegistration().Spec.CABundle) != 2 {
		t.Fatal("no second authority in two thirds of ten years")
	}
	old := parseLeaf(t, p)
	oldBundle, _ := certutil.ParseCertsPEM(c.readRegistration().Spec.CABundle)
	if err := old.CheckSignatureFrom(oldBundle[1]); err != nil {
		t.Errorf("the new leaf is served at once: %v", err)
	}
	c.expectTrust(p)

	c.clock.Step(settle - time.Second)
	c.checkReplica(p)
	if !parseLeaf(t, p).Equal(old) {
		t.Error("the new leaf is served before every kube-apiserver can know its authority")
	}
	c.clock.Step(time.Second)
	c.checkReplica(p)
	if parseLeaf(t, p).Equal(old) {
		t.Error("the new leaf is not served")
	}
	c.expectTrust(p)
	if n := countAuthorities(t, c.readRegistration().Spec.CABundle); n != 2 {
		t.Errorf("%d authorities: other replicas still serve leaves of the old one", n)
	}
	c.clock.Step(overlap)
	c.checkReplica(p)
	if n := countAuthorities(t, c.readRegistration().Spec.CABundle); n != 1 {
		t.Errorf("%d authorities after the overlap", n)
	}
	c.expectTrust(p)
}

// If an administrator deletes the Secret, a replica makes a new authority. Replicas go on with the old certificate
// until kube-apiserver trusts the new authority, even if the replica that made it started later and never saw the old
// one (C4, C2).
func TestSecretDeleted_isRecreatedWithoutAGap(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	p := c.startReplica()
	c.checkReplica(p)
	old := parseLeaf(t, p)

	c.deleteSecret()
	young := c.startReplica()
	c.checkReplica(young)
	c.checkReplica(p)
	c.expectTrust(p)
	c.expectTrust(young)
	if !parseLeaf(t, p).Equal(old) || parseLeaf(t, young).Equal(old) {
		t.Error("what is served is not what it should be")
	}
	c.clock.Step(settle)
	c.checkReplica(p)
	if !parseLeaf(t, p).Equal(parseLeaf(t, young)) {
		t.Error("the replicas do not agree in the end")
	}
	c.expectTrust(p)
}

// While a slow replica is between its read and its write of caBundle, a fast replica replaces the authority. The slow
// write is refused as a conflict, since it would put back the old bundle, and clients would distrust the new
// certificate (C3).
func TestCABundle_isNotPutBackByASlowReplica(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	slow, fast := c.startReplica(), c.startReplica()
	c.checkReplica(slow)
	c.checkReplica(fast)

	c.changeRegistration(func(registration *apiregistrationv1.APIService) { registration.Spec.CABundle = nil })
	c.beforePatch = func() {
		c.deleteSecret()
		c.checkReplica(fast)
	}
	if err := slow.checkAll(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("the slow replica wrote: %v", err)
	}
	if n := countAuthorities(t, c.readRegistration().Spec.CABundle); n != 2 {
		t.Errorf("%d authorities", n)
	}
	c.checkReplica(slow)
	c.expectTrust(slow)
	c.expectTrust(fast)
}

// C5
func TestGarbageInTheSecret_isNamedAndLeft(t *testing.T) {
	good := func(t *testing.T) (*cluster, *Provider) {
		c := newCluster(t)
		c.registerAPI()
		p := c.startReplica()
		c.checkReplica(p)
		return c, p
	}
	for name, test := range map[string]struct {
		spoil func(data, other map[string][]byte)
		want  string
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
			secret := c.readSecret().DeepCopy()
			test.spoil(secret.Data, other.readSecret().Data)
			must.Succeed(t, c.core.Tracker().Update(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, secret, namespace))
			err := c.startReplica().RunOnce(t.Context())
			if err == nil || !strings.Contains(err.Error(), namespace+"/"+secretName) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "delete it") {
				t.Errorf("a new replica says %v, want %q", err, test.want)
			}
			if err := p.RunOnce(t.Context()); err != nil {
				t.Errorf("a replica that serves: %v", err)
			}
			c.expectTrust(p)
			if fmt.Sprint(c.readSecret().Data) != fmt.Sprint(secret.Data) {
				t.Error("what could not be read was overwritten")
			}
		})
	}
}

// An administrator may deny the server the right to create Secrets and create an empty Secret instead. The server fills
// the Secret in place.
func TestEmptySecret_isFilled(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	must.Succeed(t, c.core.Tracker().Add(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName, Namespace: namespace,
		ResourceVersion: "7"}, Type: corev1.SecretTypeOpaque}))
	p := c.startReplica()
	c.checkReplica(p)
	c.expectTrust(p)
	if got := c.readSecret(); got.ResourceVersion != "8" || got.Type != corev1.SecretTypeOpaque {
		t.Errorf("resourceVersion %s, type %s", got.ResourceVersion, got.Type)
	}
}

// An administrator may apply the server before its APIService. The server then serves at once with a certificate of its
// own, and writes the caBundle into the APIService when this appears.
func TestAPIServiceAbsent_isWaitedFor(t *testing.T) {
	c := newCluster(t)
	p := c.startReplica()
	must.Succeed(t, p.RunOnce(t.Context()))
	was := parseLeaf(t, p)
	if err := p.checkAll(t.Context()); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), apiService) {
		t.Errorf("an absent APIService is reported as %v", err)
	}
	if err := was.VerifyHostname(serverName); err == nil {
		t.Error("the name of a service that was not configured is covered")
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { p.Run(ctx, 1); close(done) }()
	c.stepClock(retry)
	c.stepClock(retry)
	c.registerAPI()
	c.stepClock(2 * retry)
	c.waitUntil(func() bool { return len(c.readRegistration().Spec.CABundle) > 0 })
	c.waitUntil(func() bool { return c.verifyReplica(p) == nil })
	cancel()
	<-done
}

// stepClock triggers one check.
func (c *cluster) stepClock(d time.Duration) {
	c.t.Helper()
	c.waitUntil(c.clock.HasWaiters)
	c.clock.Step(d)
}

func (c *cluster) waitUntil(is func() bool) {
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
		c.registerAPI()
		c.changeRegistration(spoil)
		p := c.startReplica()
		if err := p.checkAll(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if len(c.readRegistration().Spec.CABundle) > 0 {
			t.Error("caBundle was written")
		}
		parseLeaf(t, p)
	}
}

func TestNew_namesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	must.Say(t, err, "clients", "namespace and name", "APIService", "host")
}

// The TLS listener of k8s.io/apiserver takes the renewed certificate for the next connection, without a restart.
func TestSecureServing_followsARenewal(t *testing.T) {
	c := newCluster(t)
	c.registerAPI()
	p := c.startReplica()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	stop := make(chan struct{})
	info := server.SecureServingInfo{Listener: listener, Cert: p}
	stopped, _, err := info.Serve(nil, time.Second, stop)
	must.Succeed(t, err)
	defer func() { close(stop); <-stopped }()
	shown := func() *x509.Certificate {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{InsecureSkipVerify: true}) // reads the leaf only
		if err != nil {
			return nil
		}
		defer conn.Close()
		return conn.ConnectionState().PeerCertificates[0]
	}
	c.waitUntil(func() bool { cert := shown(); return cert != nil && cert.Equal(parseLeaf(t, p)) })
	was := shown()
	c.stepClock(leafLife * 2 / 3)
	c.waitUntil(func() bool { cert := shown(); return !cert.Equal(was) && cert.Equal(parseLeaf(t, p)) })
}

// The server has an APIService for each further API group. They get the same caBundle as the first at once. If one is
// missing or skips verification, an error names it, and the first still works.
func TestFurther_haveTheSameAuthorities(t *testing.T) {
	const name = "v1alpha1.bind9.kubi.zone"
	c := newCluster(t)
	c.registerAPI()
	p := c.startReplica()
	p.config.Further = []string{name}
	c.checkReplica(p)
	c.expectTrust(p)
	c.registerGroup("bind9.kubi.zone")
	c.checkReplica(p)
	if first, further := c.readRegistration(), c.registrationOf(name); len(first.Spec.CABundle) == 0 ||
		!bytes.Equal(first.Spec.CABundle, further.Spec.CABundle) {
		t.Errorf("%q and %q", first.Spec.CABundle, further.Spec.CABundle)
	}
	c.checkReplica(p)
	if version := c.registrationOf(name).ResourceVersion; version != "2" {
		t.Errorf("written again: resourceVersion %s", version)
	}
	insecure := c.registrationOf(name).DeepCopy()
	insecure.Spec.InsecureSkipTLSVerify, insecure.Spec.CABundle = true, nil
	must.Succeed(t, c.aggregation.Tracker().Update(apiServices, insecure, ""))
	c.changeRegistration(func(registration *apiregistrationv1.APIService) { registration.Spec.CABundle = nil })
	if err := p.checkAll(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v", err)
	}
	c.expectTrust(p)
}
