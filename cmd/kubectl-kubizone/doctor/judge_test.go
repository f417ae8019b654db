// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"crypto/x509"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/client/overview"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

const servedName = "kubizone-apiserver.kubizone-system.svc"

var now = time.Now()

func issueAuthority(t *testing.T) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(nil, pki.Authority("a"), now, 365*24*time.Hour))(t)
}

func issueLeaf(t *testing.T, ca *pki.Pair, host string, begin time.Time, life time.Duration) *pki.Pair {
	t.Helper()
	return must.Get(pki.Issue(ca, pki.Serving("s", []string{host}), begin, life))(t)
}

func timeBefore(d time.Duration) *metav1.Time { return ptr.To(metav1.NewTime(now.Add(-d))) }

func makeHealthyFacts(t *testing.T) (*facts, *pki.Pair) {
	t.Helper()
	ca := issueAuthority(t)
	registered := func(name string) apiregistrationv1.APIService {
		return apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: apiregistrationv1.APIServiceSpec{CABundle: ca.CertPEM,
				Service: &apiregistrationv1.ServiceReference{Namespace: "kubizone-system", Name: "kubizone-apiserver"}},
			Status: apiregistrationv1.APIServiceStatus{Conditions: []apiregistrationv1.APIServiceCondition{
				{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}},
		}
	}
	serving := issueLeaf(t, ca, servedName, now, 90*24*time.Hour)
	return &facts{
		version:       "v1.37.1",
		registrations: []apiregistrationv1.APIService{registered(requiredAPIs[0]), registered(requiredAPIs[1])},
		secrets:       map[string]*corev1.Secret{servingSecret: {Data: map[string][]byte{corev1.TLSCertKey: serving.CertPEM}}},
		clockSkews:    map[string]time.Duration{kubeAPIServer: 0, "pod a": time.Second},
		answers:       []answer{{from: "10.0.0.7:10250", chain: []*x509.Certificate{serving.Cert}}, {from: "pod a"}},
		instances:     []bind9.Bind9Instance{makeInstance("ns-0", "Ready", metav1.ConditionTrue)},
		overview: &overview.Overview{ZonesRead: true, Zones: 3, Installation: &v1alpha1.InstallationStatus{
			Processes: []v1alpha1.InstallationProcess{{Name: "apiserver"}, {Name: "controller"}, {Name: "fleet"}},
			Etcd: &v1alpha1.InstallationEtcd{Members: []v1alpha1.InstallationEtcdMember{
				{Endpoint: "e0", InUseBytes: 1, QuotaBytes: 9}}}}},
	}, ca
}

func makeInstance(name, kind string, is metav1.ConditionStatus) bind9.Bind9Instance {
	return bind9.Bind9Instance{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: name}, Status: bind9.Bind9InstanceStatus{
		Conditions: []metav1.Condition{{Type: kind, Status: is, Reason: "AgentSilent", Message: "no answer"}}}}
}

func findCheck(t *testing.T, findings []Finding, check string) Finding {
	t.Helper()
	at := slices.IndexFunc(findings, func(f Finding) bool { return f.Check == check })
	if at < 0 {
		t.Fatalf("no check %s in %+v", check, findings)
	}
	return findings[at]
}

func TestJudge_findsNothingInAHealthyInstallation(t *testing.T) {
	f, _ := makeHealthyFacts(t)
	for _, finding := range judgeFacts(f, now) {
		if finding.Status != OK || finding.Next != "" {
			t.Errorf("%+v", finding)
		}
	}
}

var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("no"))

// A fault is a change of healthy facts, with the finding of one check. ca is the authority of the servers.
type fault struct {
	name    string
	break_  func(t *testing.T, f *facts, ca *pki.Pair)
	check   string
	status  Status
	message string
	next    string
}

func (f *facts) serveLeaf(leaf *pki.Pair) {
	f.answers[0].chain = []*x509.Certificate{leaf.Cert}
}

func (f *facts) setBundles(bundle []byte) {
	for i := range f.registrations {
		f.registrations[i].Spec.CABundle = bundle
	}
}

func (f *facts) loseAPI(name, reason string) {
	for i := range f.registrations {
		if strings.HasPrefix(f.registrations[i].Name, name) {
			f.registrations[i].Status.Conditions[0] = apiregistrationv1.APIServiceCondition{Type: apiregistrationv1.Available,
				Status: apiregistrationv1.ConditionFalse, Reason: "FailedDiscoveryCheck", Message: reason}
		}
	}
}

func (f *facts) registerACME() {
	acme := *f.registrations[0].DeepCopy()
	acme.Name, acme.Spec.CABundle = "v1alpha1.acme.kubi.zone", nil
	f.registrations = append(f.registrations, acme)
	f.loseAPI(acme.Name, "no such group")
}

func (f *facts) failChecks(server int, names ...string) { f.answers[server].failedChecks = names }

// loseServers removes the facts that only a server has.
func (f *facts) loseServers(err error) {
	for i := range f.answers {
		f.answers[i] = answer{from: f.answers[i].from, err: err}
	}
	f.overview = &overview.Overview{Unread: []overview.Unread{{Resource: "zones.kubi.zone", Err: err, Reason: err.Error()}}}
}

func (f *facts) makeBehind(reason, message string) {
	f.overview.NotCurrent = append(f.overview.NotCurrent, overview.Item{Kind: "Zone", Namespace: "team", Name: "z" + reason, Reason: reason,
		Message: message, Since: timeBefore(3 * time.Minute)})
}

func (f *facts) endProcess(name string) {
	f.overview.Installation.Processes = append(f.overview.Installation.Processes, v1alpha1.InstallationProcess{Name: name, Ended: true,
		Renewed: timeBefore(2 * time.Minute)})
}

// Each case gives the doctor facts of a healthy cluster with one fault. The doctor finds this fault, describes it and
// says what to do next; every line fits the terminal (D1, D2).
func TestJudge_namesTheFaultAndTheNextStep(t *testing.T) {
	for _, test := range slices.Concat(faultsOfCluster, faultsOfCertificates, faultsOfServers, faultsOfZones) {
		t.Run(test.name, func(t *testing.T) {
			f, ca := makeHealthyFacts(t)
			test.break_(t, f, ca)
			findings := judgeFacts(f, now)
			got := findCheck(t, findings, test.check)
			if got.Status != test.status || !strings.Contains(got.Message, test.message) || !strings.Contains(got.Next, test.next) {
				t.Errorf("%+v; want %s with %q and next %q", got, test.status, test.message, test.next)
			}
			for _, finding := range findings {
				if (finding.Status == OK) != (finding.Next == "") ||
					finding.Check != "zones" && strings.HasPrefix(finding.Next, "the platform ") || // of zones, as in conditions
					strings.Contains(finding.Next, "kubizone doctor") {
					t.Errorf("%+v", finding)
				}
			}
			var out bytes.Buffer
			diagnosis, screen := Diagnosis{Checks: findings}, output.NewScreenWriter(&out, output.Screen{Width: 80})
			text := output.NewText(screen)
			diagnosis.printText(text)
			must.Get(text.WriteTo(screen))(t)
			for line := range strings.Lines(out.String()) {
				if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
					t.Errorf("a line wider than the terminal: %s", line)
				}
			}
		})
	}
}

var faultsOfCluster = []fault{
	{"kube-apiserver away", func(_ *testing.T, f *facts, _ *pki.Pair) { f.versionErr = errors.New("refused") }, "kube-apiserver", Fail,
		"refused", "--kubeconfig"},
	{"no APIService", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations = f.registrations[1:] }, "installation", Fail,
		"v1alpha1.kubi.zone does not exist", "kubectl apply"},
	{"no APIService of a release", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.registrations = f.registrations[:1]
		f.registrations[0].Annotations = map[string]string{releaseAnnotation: "dns"}
	}, "installation", Fail, "v1alpha1.bind9.kubi.zone does not exist", "helm rollback dns REVISION -n kubizone-system"},
	{"nothing installed", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations, f.answers = nil, nil }, "installation", Fail,
		"does not exist", "helm install kubizone CHART -n kubizone-system"},
	{"APIServices unseen", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations, f.registrationsErr = nil, forbidden },
		"installation", Warn, "not read: you lack the right", "a user who may read"},
	{"APIService of a CRD", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[0].Spec.Service = nil }, "installation", Fail,
		"CustomResourceDefinition", "migration.md"},
	{"automanaged", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.registrations[0].Labels = map[string]string{automanaged: "true"}
	}, "installation", Fail, "CustomResourceDefinition", "kubectl label"},
	{"no verification", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[0].Spec.InsecureSkipTLSVerify = true },
		"installation", Fail, "insecureSkipTLSVerify", "false"},
	{"not available", func(_ *testing.T, f *facts, _ *pki.Pair) { f.loseAPI("v1alpha1.bind9", "context deadline exceeded") }, "apiservices",
		Fail, "v1alpha1.bind9.kubi.zone: FailedDiscoveryCheck: context deadline exceeded", "10250"},
	{"not trusted, and trust unseen", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(errors.New("i/o timeout"))
		f.secrets, f.secretErr = nil, forbidden
		f.loseAPI("v1alpha1.bind9", "tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}, "apiservices", Fail, "x509", "a user who may read APIServices and Secrets"},
	{"not trusted", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(issueAuthority(t).CertPEM)
		f.loseAPI("v1alpha1.bind9", "tls: failed to verify certificate: x509: certificate signed by unknown authority")
	}, "apiservices", Fail, "x509", "mend trust first"},
	{"a group that the servers do not serve", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registerACME() }, "apiservices", Fail,
		"v1alpha1.acme.kubi.zone: FailedDiscoveryCheck", "kubectl delete apiservice v1alpha1.acme.kubi.zone"},
	{"a clock of an hour ago, and that of kube-apiserver with it", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.clockSkews = map[string]time.Duration{kubeAPIServer: -time.Hour, "pod a": -time.Hour - time.Second}
	}, "clocks", Warn, "the clock of this machine and kube-apiserver's are 1h0m0s apart", "set the wrong clock"},
	{"a server's clock ahead", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.clockSkews = map[string]time.Duration{kubeAPIServer: time.Minute, "pod a": 11 * time.Minute, "pod b": time.Minute}
	}, "clocks", Fail, "the clock of pod a is 10m0s ahead of kube-apiserver's", "timedatectl"},
	{"a server's clock somewhat behind", func(_ *testing.T, f *facts, _ *pki.Pair) { f.clockSkews["pod a"] = -30 * time.Second },
		"clocks", Warn,
		"is 30s behind kube-apiserver's", "timedatectl"},
	{"clocks unseen", func(_ *testing.T, f *facts, _ *pki.Pair) { f.clockSkews = nil },
		"clocks", Warn, "no answer has a date", "see servers"},
}

var faultsOfCertificates = []fault{
	{"caBundle missing at one", func(_ *testing.T, f *facts, _ *pki.Pair) { f.registrations[1].Spec.CABundle = nil }, "trust", Fail,
		"caBundle of v1alpha1.bind9.kubi.zone is empty", "--serving-cert-secret"},
	{"caBundle empty", func(_ *testing.T, f *facts, _ *pki.Pair) { f.setBundles(nil) }, "trust", Fail, "empty", "--serving-cert-secret"},
	{"caBundle empty with cert-manager", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(nil)
		f.registrations[0].Annotations = map[string]string{injectAnnotation: "x/y"}
	}, "trust", Fail, "empty", "cainjector"},
	{"caBundle garbage", func(_ *testing.T, f *facts, _ *pki.Pair) { f.setBundles([]byte("x")) }, "trust", Fail, "not PEM", "see its log"},
	{"caBundle expired", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(must.Get(pki.Issue(nil, pki.Authority("a"), now.Add(-48*time.Hour), 24*time.Hour))(t).CertPEM)
	}, "certificates", Fail, "caBundle of v1alpha1.kubi.zone expired on", "kubectl delete secret"},
	{"an authority of the future", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(must.Get(pki.Issue(nil, pki.Authority("a"), now.Add(48*time.Hour), 24*time.Hour))(t).CertPEM)
	}, "certificates", Fail, "is valid from", "set the wrong clock"},
	{"served by another authority", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.serveLeaf(issueLeaf(t, issueAuthority(t), servedName, now, 90*24*time.Hour))
	}, "trust", Fail, "of 10.0.0.7:10250", "authority into caBundle"},
	{"caBundle by another writer", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(must.Get(pki.Issue(nil, pki.Authority("somebody else"), now, time.Hour))(t).CertPEM)
		f.writeBundle("kubizone-serving", time.Hour)
		f.writeBundle("argocd", time.Minute)
	}, "trust", Fail, "caBundle of v1alpha1.kubi.zone is CN=somebody else, last written by argocd at " +
		now.Add(-time.Minute).UTC().Format("15:04:05Z"), "stop argocd from writing caBundle"},
	{"caBundle by cert-manager", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.setBundles(issueAuthority(t).CertPEM)
		f.writeBundle("cert-manager-cainjector", time.Minute)
	}, "trust", Fail, "CN=a, last written by cert-manager-cainjector", "cainjector, which writes caBundle"},
	{"served for another name", func(t *testing.T, f *facts, ca *pki.Pair) {
		f.serveLeaf(issueLeaf(t, ca, "localhost", now, 90*24*time.Hour))
	}, "trust", Fail, servedName, "names"},
	{"a certificate of the future", func(t *testing.T, f *facts, ca *pki.Pair) {
		f.serveLeaf(issueLeaf(t, ca, servedName, now.Add(2*time.Hour), 90*24*time.Hour))
	}, "certificates", Fail, "certificate of 10.0.0.7:10250 is valid from", "kubectl delete secret -n kubizone-system"},
	{"kube-apiserver's clock in the past of the certificate", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.clockSkews = map[string]time.Duration{kubeAPIServer: -3 * time.Hour}
	}, "certificates", Fail, "is valid from", "set the wrong clock"},
	{"certificate expired", func(t *testing.T, f *facts, ca *pki.Pair) {
		f.serveLeaf(issueLeaf(t, ca, servedName, now.Add(-48*time.Hour), 24*time.Hour))
	}, "certificates", Fail, "certificate of 10.0.0.7:10250 expired on", "kubectl delete secret"},
	{"certificate expired with cert-manager", func(t *testing.T, f *facts, ca *pki.Pair) {
		f.serveLeaf(issueLeaf(t, ca, servedName, now.Add(-48*time.Hour), 24*time.Hour))
		f.registrations[0].Annotations = map[string]string{injectAnnotation: "x/y"}
	}, "certificates", Fail, "expired on", "look at the Certificate"},
	{"certificate between members expired", func(t *testing.T, f *facts, ca *pki.Pair) {
		old := issueLeaf(t, ca, "x", now.Add(-48*time.Hour), 24*time.Hour)
		f.secrets[peerSecret] = &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: old.CertPEM}}
	}, "certificates", Fail, "Secret kubizone-etcd-peer expired on", "kubectl delete secret -n kubizone-system kubizone-etcd-peer"},
	{"certificate for etcd near its end", func(t *testing.T, f *facts, ca *pki.Pair) {
		near := issueLeaf(t, ca, "x", now, time.Hour)
		f.secrets[etcdClientSecret] = &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: near.CertPEM}}
	}, "certificates", Warn, "Secret kubizone-etcd-client expires on", "renew it"},
	{"not renewed", func(t *testing.T, f *facts, ca *pki.Pair) {
		f.serveLeaf(issueLeaf(t, ca, servedName, now, 24*time.Hour))
	},
		"certificates", Warn, "expires on", "renewed"},
	{"unreached, secret of another authority", func(t *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(errors.New("i/o timeout"))
		f.secrets[servingSecret].Data[corev1.TLSCertKey] = issueLeaf(t, issueAuthority(t), servedName, now, 90*24*time.Hour).CertPEM
	}, "trust", Fail, "Secret kubizone-apiserver-serving", "caBundle"},
	{"unreached, secret unseen", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(errors.New("i/o timeout"))
		f.secrets, f.secretErr = nil, forbidden
	}, "trust", Warn, "not read: you lack the right", "a user who may read"},
}

var faultsOfServers = []fault{
	{"etcd away", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(errors.New("timeout"))
		f.failChecks(1, "etcd-readiness")
	}, "etcd", Fail, "pod a: etcd-readiness", "members"},
	{"etcd away at one server", func(_ *testing.T, f *facts, _ *pki.Pair) { f.failChecks(1, "etcd-readiness") }, "etcd", Warn,
		"pod a: etcd-readiness", "run this again"},
	{"a member away", func(_ *testing.T, f *facts, _ *pki.Pair) { f.addMembers("", "timeout") }, "etcd", Warn,
		"1 of 3 members", "Lost member"},
	{"most members away", func(_ *testing.T, f *facts, _ *pki.Pair) { f.addMembers("timeout", "timeout") }, "etcd", Fail,
		"2 of 3 members do not answer: e1: timeout", "members"},
	{"near the quota", func(_ *testing.T, f *facts, _ *pki.Pair) { f.overview.Installation.Etcd.Members[0].InUseBytes = 8 }, "etcd", Warn,
		"89 %", "KubizoneEtcdNearQuota"},
	{"outgrown", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.failChecks(0, formatCheck)
		f.failChecks(1, formatCheck)
	}, "etcd", Fail, "format", "rollout"},
	{"etcd corrupt", func(_ *testing.T, f *facts, _ *pki.Pair) { f.failChecks(0, "etcd-corrupt") }, "etcd", Fail, "CORRUPT",
		"docs/operations.md, CORRUPT"},
	{"etcd full, seen by one server", func(_ *testing.T, f *facts, _ *pki.Pair) { f.failChecks(0, "etcd-space") }, "etcd", Fail, "NOSPACE",
		"quota"},
	{"etcd full, by the Installation", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.Etcd.Alarms = []string{"NOSPACE"}
	}, "etcd", Fail, "NOSPACE", "quota"},
	{"not synced", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.failChecks(0, "informer-sync")
		f.failChecks(1, "informer-sync")
	}, "servers", Fail, "informer-sync", "kubectl logs -n kubizone-system"},
	{"a right is missing", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.answers = []answer{{from: "pod a", failedChecks: []string{"permissions"}}}
	},
		"servers", Fail, "pod a: permissions", "apply its manifests"},
	{"a right is missing, and the server names it", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.answers = []answer{{from: "pod a", failedChecks: []string{"permissions"}, lacks: "the identity lacks the RBAC rule x: no token"}}
	}, "servers", Fail, "the identity lacks the RBAC rule x: no token", "apply the RBAC rules of this version"},
	{"kube-apiserver does not answer the server", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.answers = []answer{{from: "pod a", failedChecks: []string{"permissions"}, lacks: "kube-apiserver does not answer this server"}}
	}, "servers", Fail, "kube-apiserver does not answer this server", "let the server reach kube-apiserver"},
	{"a right was revoked", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.MissingPermissions = []string{"it lacks the RBAC rule x: no token"}
	}, "servers", Fail, "RBAC rule x", "kubectl apply"},
	{"a server stops, and another serves", func(_ *testing.T, f *facts, _ *pki.Pair) { f.failChecks(1, "shutdown") }, "servers", Warn,
		"1 pass every check, others fail: pod a: shutdown", "run this again in a minute"},
	{"no server reached, and kube-apiserver does", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.answers = []answer{{from: "10.0.0.7:10250", err: errors.New("i/o timeout")}}
	}, "servers", OK, "they answer kube-apiserver", ""},
	{"no server reached", func(_ *testing.T, f *facts, _ *pki.Pair) { f.loseServers(errors.New("i/o timeout")) }, "servers", Warn,
		"10.0.0.7:10250: i/o timeout", "pods/proxy"},
	{"one of two silent", func(_ *testing.T, f *facts, _ *pki.Pair) { f.answers[1].err = errors.New("its phase is Pending") }, "servers",
		Warn, "1 pass every check, others do not answer: pod a: its phase is Pending", "an image"},
	{"no pod", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(errors.New("refused"))
		f.answers = nil
	}, "servers", Fail, "there is no pod of kubizone-apiserver", "statefulsets"},
	{"no controller", func(_ *testing.T, f *facts, _ *pki.Pair) { f.endProcess("controller") }, "processes", Fail,
		"no replica works: controller since 2m (changes",
		"scale the controller up from 0"},
	{"never a controller", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.Processes = f.overview.Installation.Processes[:1]
	}, "processes", Warn, "no controller has a Lease", "kubectl get deployments,statefulsets,pods -n kubizone-system"},
	{"never a controller, and a zone waits", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.Processes = f.overview.Installation.Processes[:1]
		f.makeBehind(v1alpha1.ReasonPending, "")
	}, "processes", Fail, "no controller has a Lease", "kubectl get deployments,statefulsets,pods -n kubizone-system"},
	{"never a fleet", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.Processes = f.overview.Installation.Processes[:2]
	}, "processes", Warn, "no fleet has a Lease", "kubectl get deployments,statefulsets,pods -n kubizone-system"},
	{"Leases unread", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.Unknown = []v1alpha1.InstallationUnknown{{Part: "processes", Reason: "outside of a pod; see healthz"}}
	}, "processes", Warn, "outside of a pod", "see healthz"},
	{"a signer is silent", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.instances = append(f.instances, makeInstance("signer-0", "Degraded", metav1.ConditionTrue))
	}, "bind9", Fail, "1 of 2 are not ready (dns/signer-0): AgentSilent: no answer",
		"kubectl describe bind9instance signer-0 -n dns"},
}

// writeBundle notes a writer of each caBundle.
func (f *facts) writeBundle(manager string, before time.Duration) {
	for i := range f.registrations {
		f.registrations[i].ManagedFields = append(f.registrations[i].ManagedFields, metav1.ManagedFieldsEntry{Manager: manager,
			Time: timeBefore(before), FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:caBundle":{}}}`)})
	}
}

func (f *facts) addMembers(errs ...string) {
	for i, err := range errs {
		f.overview.Installation.Etcd.Members = append(f.overview.Installation.Etcd.Members,
			v1alpha1.InstallationEtcdMember{Endpoint: "e" + string(rune('1'+i)), Error: err})
	}
}

var faultsOfZones = []fault{
	{"behind", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.makeBehind(v1alpha1.ReasonNotDelegatedOrServable, "no rule")
		f.makeBehind(v1alpha1.ReasonClassPaused, "c: the class is paused; the platform sets spec.paused")
		f.makeBehind(v1alpha1.ReasonNotDelegatedOrServable, "no rule")
	}, "zones", Fail,
		"1 of 3 are not current, ClassPaused: Zone team/zClassPaused for 3m: c: the class is paused",
		"the platform sets spec.paused; kubectl kubizone why -n team zone/zClassPaused names class and server"},
	{"a server refuses NOTIFY", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.makeBehind(v1alpha1.ReasonNotifyFailing, "c: a server of it does not confirm NOTIFY; "+findServer)
		f.overview.NotCurrent[0].Servers = []class.ServerFault{{Fault: "192.0.2.1 answers REFUSED to NOTIFY from 10.0.0.7",
			Step: "admit it there: BIND allow-notify { 10.0.0.7; }; Knot an acl"}, {Fault: "192.0.2.2 is behind"}}
	}, "zones", Fail, "c: a server of it does not confirm NOTIFY: 192.0.2.1 answers REFUSED to NOTIFY from 10.0.0.7, 192.0.2.2 is behind",
		"admit it there: BIND allow-notify { 10.0.0.7; }; Knot an acl; kubectl kubizone why"},
	{"a server transfers nothing over TLS", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.makeBehind(v1alpha1.ReasonTLSFailing, "c: a server transfers nothing over TLS; "+findServer)
		f.overview.NotCurrent[0].Servers = []class.ServerFault{{Fault: "192.0.2.1 transfers nothing over TLS: it lacks TLS 1.3",
			Step: "let it use TLS 1.3"}}
	}, "zones", Fail, "TLSFailing: Zone team/zTLSFailing", "let it use TLS 1.3; kubectl kubizone why"},
	{"a server went back, and Deliveries may not be read", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.makeBehind(v1alpha1.ReasonServerWentBack, "c: it went back; "+findServer)
	}, "zones", Fail, "ServerWentBack: Zone team/zServerWentBack", "run this as a user who may list deliveries"},
	{"behind without a next step", func(_ *testing.T, f *facts, _ *pki.Pair) { f.makeBehind("Other", "") }, "zones", Fail, "current, Other",
		"kubectl kubizone why -n team zone/zOther"},
	{"a Record is old", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.OldestUnconfirmed = &overview.Item{Kind: "Record", Namespace: "team", Name: "www", Reason: "Pending",
			Since: timeBefore(time.Hour)}
	}, "zones", Warn, "all 3 are current, but Record team/www is unconfirmed for 60m: Pending", "kubectl kubizone why"},
	{"a Zone cannot be read", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.loseServers(&apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 500, Message: "illegal wireType 7"}})
	}, "zones", Fail, "illegal wireType", "kubizone fsck"},
	{"zones unseen", func(_ *testing.T, f *facts, _ *pki.Pair) { f.loseServers(forbidden) }, "zones", Warn,
		"you lack the right", "a user who"},
	{"a namespace gone", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Installation.NamespacesGone = []string{"a", "b", "c", "d"}
	}, "namespaces", Warn, "a, b, c and 1 more", "kubectl delete records,delegations,zones --all -n"},
	{"a namespace stays Terminating", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Terminating = []overview.Item{{Kind: "Namespace", Name: "team", Message: "Zone z stays (S8.1); kubectl annotate zone z"}}
	}, "namespaces", Warn, "1 stay Terminating: team: Zone z stays (S8.1)", "kubectl annotate zone z"},
	{"a right is missing", func(_ *testing.T, f *facts, _ *pki.Pair) {
		f.overview.Unread = []overview.Unread{{Resource: "dnsclasses.kubi.zone", Reason: "you lack it"}}
	}, "rights", Warn, "dnsclasses.kubi.zone: you lack it", "kubizone-operator"},
}

// D3, D4: the first FAIL is the cause, with the only NEXT, at the end.
func TestJudge_namesOneCause_D4(t *testing.T) {
	for _, test := range []struct {
		name   string
		break_ func(*facts)
		cause  string
		fails  int
	}{
		{"nothing", func(*facts) {}, "", 0},
		{"packets dropped", func(f *facts) {
			f.loseServers(errors.New("timeout"))
			f.loseAPI("v1alpha1", "timeout")
		}, "apiservices", 1},
		{"etcd stopped", func(f *facts) {
			f.loseServers(errors.New("timeout"))
			f.failChecks(1, "etcd-readiness")
			f.loseAPI("v1alpha1", "bad status")
		}, "etcd", 2},
		{"another authority", func(f *facts) {
			f.loseAPI("v1alpha1", "x509")
			f.setBundles(issueAuthority(t).CertPEM)
		}, "trust", 2},
		{"a server of the past", func(f *facts) {
			f.clockSkews["pod a"] = -48 * time.Hour
			f.setBundles(nil)
			f.loseAPI("v1alpha1", "x509")
		}, "clocks", 3},
		{"no right to write caBundle", func(f *facts) {
			f.setBundles(nil)
			f.answers = []answer{{from: "pod a", failedChecks: []string{"permissions"}}}
			f.loseAPI("v1alpha1", "x509")
		}, "servers", 3},
		{"no APIService, and no pod", func(f *facts) {
			f.loseServers(errors.New("refused"))
			f.registrations, f.answers = f.registrations[1:], nil
		}, "installation", 2},
		{"no controller", func(f *facts) {
			f.endProcess("controller")
			f.makeBehind(v1alpha1.ReasonNoController, "none works; start it")
		}, "processes", 2},
		{"acme is not served, and a zone is paused", func(f *facts) {
			f.registerACME()
			f.makeBehind(v1alpha1.ReasonPaused, "the zone is paused; remove the annotation")
		}, "apiservices", 2},
	} {
		f, _ := makeHealthyFacts(t)
		test.break_(f)
		diagnosis := Diagnosis{Checks: judgeFacts(f, now)}
		text := output.NewText(&bytes.Buffer{})
		diagnosis.printText(text)
		var out bytes.Buffer
		must.Get(text.WriteTo(&out))(t)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if test.cause == "" {
			if strings.Contains(out.String(), "CAUSE") || findCause(diagnosis.Checks) != nil {
				t.Errorf("%s:\n%s", test.name, out.String())
			}
			continue
		}
		n := strings.Count(out.String(), "FAIL  ")
		if n != test.fails || !strings.HasPrefix(lines[len(lines)-2], "CAUSE: "+test.cause+": ") ||
			!strings.HasPrefix(lines[len(lines)-1], "NEXT: ") || strings.Count(strings.ToUpper(out.String()), "NEXT: ") != 1 {
			t.Errorf("%s: %d failures\n%s", test.name, n, out.String())
		}
	}
}

// The processes are those that renew Leases.
func TestJudge_knowsTheEffectOfEachProcess(t *testing.T) {
	for _, process := range []string{heartbeat.Controller, heartbeat.Primary, heartbeat.Fleet, heartbeat.ExternalDNS} {
		if effects[process] == "" {
			t.Errorf("of %s", process)
		}
	}
}
