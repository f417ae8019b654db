// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	groups "kubi.zone/kubizone/pkg/cmd/cluster"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/version"
)

const (
	// Names in the manifests, used if there is no APIService.
	installNamespace = "kubizone-system"
	serverName       = "kubizone-apiserver"
	servingSecret    = "kubizone-apiserver-serving"
	peerSecret       = "kubizone-etcd-peer"

	partOfLabel, partOf = "app.kubernetes.io/part-of", "kubizone"

	// excludedCheck is left out of /readyz and /healthz, as etcd-readiness is the same. While etcd hangs each takes two
	// seconds.
	excludedCheck = "etcd"

	// dialTime bounds the connection attempt, as a firewall may drop packets.
	dialTime = 3 * time.Second

	maxQuestions = 16
)

var otherCertificates = map[string]string{
	peerSecret:             "the members of etcd do not know each other then",
	"kubizone-etcd-client": "etcd refuses the servers then",
}

// The first of apiServices determines Service and caBundle.
var apiServices = []string{"v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone"}

type facts struct {
	version    string
	versionErr error
	absent     []string
	absentErr  error

	registrations    []apiregistrationv1.APIService // apiServices, then those with the label
	registrationsErr error
	service          *corev1.Service
	slices           []discoveryv1.EndpointSlice
	slicesErr        error
	pods             []corev1.Pod
	secret           *corev1.Secret
	secretErr        error
	others           map[string]*corev1.Secret // of otherCertificates

	release    release
	releaseErr error

	account    string // user name of the server
	refused    []refusal
	refusedErr error

	left       map[string]int // Zones, Delegations and Records by missing namespace
	objectsErr error

	answers []answer
	ahead   map[string]time.Duration // clocks relative to this machine
}

type answer struct {
	from   string
	chain  []*x509.Certificate // of a direct connection
	checks string              // lines of /readyz and /healthz
	err    error               // a path did not answer with checks
}

func (f *facts) registration(name string) *apiregistrationv1.APIService {
	for i := range f.registrations {
		if f.registrations[i].Name == name {
			return &f.registrations[i]
		}
	}
	return nil
}

func (f *facts) serviceRef() (namespace, service string, port int32) {
	if of := f.registration(apiServices[0]); of != nil && of.Spec.Service != nil {
		return of.Spec.Service.Namespace, of.Spec.Service.Name, ptr.Deref(of.Spec.Service.Port, 443)
	}
	return installNamespace, serverName, 443
}

func (f *facts) byCertManager() bool {
	of := f.registration(apiServices[0])
	return of != nil && of.Annotations["cert-manager.io/inject-ca-from"] != ""
}

func (f *facts) standalone() bool {
	_, build, _ := strings.Cut(f.version, "+")
	return strings.HasPrefix(build, version.Component+"-")
}

// askPaths reads both paths at once, as each may take seconds while etcd hangs.
func askPaths(from string, get func(path string) ([]byte, error)) answer {
	var texts [2]string
	var errs [2]error
	var asking errgroup.Group
	for i, path := range []string{"readyz", "healthz"} {
		asking.Go(func() error {
			body, err := get(path)
			if texts[i] = string(body); !strings.Contains(texts[i], "[") {
				errs[i] = cmp.Or(err, errors.New("not an answer of /"+path))
			}
			return nil
		})
	}
	_ = asking.Wait() // the answer has the errors
	return answer{from: from, checks: strings.Join(texts[:], "\n"), err: cmp.Or(errs[:]...)}
}

// collectFacts sends all requests within answerTime. Lists of all objects may take until ctx ends if a first object
// came in time.
func collectFacts(ctx context.Context, client groups.Interface, aggregated aggregator.Interface, objects versioned.Interface,
	seen *clocks) *facts {
	f := &facts{}
	long := ctx
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	info, err := discovery.ToDiscoveryInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		f.versionErr = err
		return f // other requests would fail, too
	}
	if f.version = info.GitVersion; f.standalone() {
		return f // without a cluster
	}
	if list, err := aggregated.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{}); err != nil {
		f.registrationsErr = err
	} else {
		for _, one := range list.Items {
			if slices.Contains(apiServices, one.Name) {
				f.registrations = slices.Insert(f.registrations, 0, one)
			} else if one.Labels[partOfLabel] == partOf {
				f.registrations = append(f.registrations, one)
			}
		}
	}
	namespace, service, _ := f.serviceRef()
	selector := labels.Set{"app.kubernetes.io/name": serverName}
	if found, err := client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{}); err == nil {
		if f.service = found; len(found.Spec.Selector) > 0 {
			selector = found.Spec.Selector
		}
	}
	if list, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}); err != nil {
		f.slicesErr = err
	} else {
		f.slices = list.Items
	}
	if list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()}); err == nil {
		f.pods = list.Items
	}
	account := serverName
	if len(f.pods) > 0 && f.pods[0].Spec.ServiceAccountName != "" {
		account = f.pods[0].Spec.ServiceAccountName
	}
	f.account = "system:serviceaccount:" + namespace + ":" + account
	var all errgroup.Group
	all.Go(func() error { f.answers = f.askServers(ctx, client, seen); return nil })
	all.Go(func() error { f.objectsErr = f.collectLeft(ctx, long, client, objects); return nil })
	all.Go(func() error {
		f.refused, f.refusedErr = listRefusedRules(ctx, client, namespace, f.account)
		return nil
	})
	f.absent, f.absentErr = listAbsentResources(ctx, client)
	f.secret, f.secretErr = client.CoreV1().Secrets(namespace).Get(ctx, servingSecret, metav1.GetOptions{})
	f.others = map[string]*corev1.Secret{}
	for name := range otherCertificates {
		if secret, err := client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{}); err == nil {
			f.others[name] = secret
		}
	}
	f.release, f.releaseErr = findRelease(ctx, client, namespace)
	_ = all.Wait() // errors are facts
	f.ahead = seen.list()
	return f
}

// Only kube-apiserver 1.36 and later have notInEvery.
var notInEvery = []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}

// Informers would wait forever for absent resources.
func listAbsentResources(ctx context.Context, client groups.Interface) ([]string, error) {
	var names []string
	for _, group := range []string{"admissionregistration.k8s.io", "flowcontrol.apiserver.k8s.io"} {
		discovered := discovery.ToDiscoveryInterfaceWithContext(client.Discovery())
		list, err := discovered.ServerResourcesForGroupVersionWithContext(ctx, group+"/v1")
		if err != nil {
			return nil, err
		}
		for _, rule := range Rules() {
			if rule.APIGroups[0] != group {
				continue
			}
			for _, resource := range rule.Resources {
				if !slices.Contains(notInEvery, resource) &&
					!slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource }) {
					names = append(names, resource+"."+group)
				}
			}
		}
	}
	return names, nil
}

type refusal struct {
	Rule
	lacks []string // VERB RESOURCE
}

func listRefusedRules(ctx context.Context, client groups.Interface, namespace, user string) ([]refusal, error) {
	rules := Rules()
	lacks := make([][]string, len(rules))
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(maxQuestions)
	for i, rule := range rules {
		asking.Go(func() (err error) { lacks[i], err = listLacking(ctx, client, namespace, user, rule); return err })
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	var refused []refusal
	for i, rule := range rules {
		if len(lacks[i]) > 0 {
			refused = append(refused, refusal{rule, lacks[i]})
		}
	}
	return refused, nil
}

func listLacking(ctx context.Context, client groups.Interface, namespace, user string, rule Rule) (lacks []string, err error) {
	at := rule.Namespace
	if at == InstallNamespace {
		at = namespace
	}
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, resource := range rule.Resources {
		for _, verb := range rule.Verbs {
			for _, name := range names {
				asked := authorizationv1.ResourceAttributes{Namespace: at, Group: rule.APIGroups[0], Name: name, Verb: verb}
				asked.Resource, asked.Subresource, _ = strings.Cut(resource, "/")
				review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
					Spec: authorizationv1.SubjectAccessReviewSpec{ResourceAttributes: &asked, User: user, Groups: []string{
						"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}},
				}, metav1.CreateOptions{})
				if err != nil {
					return nil, err
				}
				if !review.Status.Allowed {
					lacks = append(lacks, strings.TrimSpace(verb+" "+resource+" "+name))
				}
			}
		}
	}
	return lacks, nil
}

// collectLeft lists namespaces after the objects, to include new namespaces. Without a first Zone in time it lists
// nothing.
func (f *facts) collectLeft(inTime, ctx context.Context, client groups.Interface, objects versioned.Interface) error {
	api, all := objects.KubizoneV1alpha1(), metav1.ListOptions{}
	if _, err := api.Zones(metav1.NamespaceAll).List(inTime, metav1.ListOptions{Limit: 1}); err != nil {
		return err
	}
	left := map[string]int{}
	err := load.EachItem(ctx, api.Zones(metav1.NamespaceAll).List, all, func(z *v1alpha1.Zone) error { left[z.Namespace]++; return nil })
	if err == nil {
		err = load.EachItem(ctx, api.Delegations(metav1.NamespaceAll).List, all,
			func(d *v1alpha1.Delegation) error { left[d.Namespace]++; return nil })
	}
	if err == nil {
		err = load.EachItem(ctx, api.Records(metav1.NamespaceAll).List, all,
			func(r *v1alpha1.Record) error { left[r.Namespace]++; return nil })
	}
	if err != nil {
		return err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, namespace := range namespaces.Items {
		delete(left, namespace.Name)
	}
	f.left = left
	return nil
}

func (f *facts) askServers(ctx context.Context, client groups.Interface, seen *clocks) []answer {
	addresses := f.serverAddresses()
	all := make([]answer, len(addresses)+len(f.pods))
	var asking errgroup.Group
	asking.SetLimit(maxQuestions)
	for i, address := range addresses {
		asking.Go(func() error { all[i] = askDirect(ctx, address, seen); return nil })
	}
	for i, pod := range f.pods {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		asking.Go(func() error {
			all[len(addresses)+i] = askPaths("pod "+pod.Name, func(path string) ([]byte, error) {
				parameters := map[string]string{"verbose": "", "exclude": excludedCheck}
				return client.CoreV1().Pods(pod.Namespace).ProxyGet("https", pod.Name, "https", path, parameters).DoRaw(ctx)
			})
			return nil
		})
	}
	_ = asking.Wait() // the answers have the errors
	return slices.DeleteFunc(all, func(a answer) bool { return a.from == "" })
}

func (f *facts) serverAddresses() []string {
	_, _, port := f.serviceRef()
	if f.service != nil && f.service.Spec.Type == corev1.ServiceTypeExternalName {
		return []string{net.JoinHostPort(f.service.Spec.ExternalName, strconv.Itoa(int(port)))}
	}
	var all []string
	for _, slice := range f.slices {
		for _, endpoint := range slice.Endpoints {
			for _, slicePort := range slice.Ports {
				if len(endpoint.Addresses) > 0 && slicePort.Port != nil {
					all = append(all, net.JoinHostPort(endpoint.Addresses[0], strconv.Itoa(int(*slicePort.Port))))
				}
			}
		}
	}
	return all
}

// askDirect accepts any certificate, as it is under test, and no secret is sent.
func askDirect(ctx context.Context, address string, seen *clocks) answer {
	var chain atomic.Pointer[[]*x509.Certificate]
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
			chain.Store(&state.PeerCertificates)
			return nil
		}},
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	a := askPaths(address, func(path string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/"+path+"?verbose&exclude="+excludedCheck, nil)
		if err != nil {
			return nil, err
		}
		asked := time.Now()
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		seen.note(address, response, asked, time.Now())
		return io.ReadAll(io.LimitReader(response.Body, 1<<20))
	})
	if served := chain.Load(); served != nil {
		a.chain = *served
	}
	return a
}
