// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/load"
)

const (
	// fleetAPIService is the registration of bind9.kubi.zone.
	fleetAPIService = "v1alpha1.bind9.kubi.zone"
	// The names of the server in the manifests, used if there is no APIService.
	installNamespace = "kubizone-system"
	serverName       = "kubizone-apiserver"
	servingSecret    = "kubizone-apiserver-serving"

	// dialTime bounds a connection whose packets a firewall may drop.
	dialTime = 3 * time.Second
)

// facts are the collected objects and answers, each with the error that prevented it.
type facts struct {
	name string // of the APIService

	version    string
	versionErr error
	// absent are resources that the server needs and this kube-apiserver does not have.
	absent    []string
	absentErr error

	registration    *apiregistrationv1.APIService
	registrationErr error
	// fleet is the registration of the second group, which the same server serves.
	fleet      *apiregistrationv1.APIService
	fleetErr   error
	service    *corev1.Service
	serviceErr error
	slices     []discoveryv1.EndpointSlice
	slicesErr  error
	pods       []corev1.Pod
	podsErr    error
	secret     *corev1.Secret
	secretErr  error

	account    string // the server's, as a user name
	refused    []Rule // with the verbs and resources that are
	refusedErr error

	left       map[string]int // Zones, Delegations and Records by the namespace that is gone
	objectsErr error

	answers   []answer
	discovery error // of the group version, through kube-apiserver
}

// answer is the answer of one address of the server.
type answer struct {
	from   string
	direct bool
	chain  []*x509.Certificate // of a direct one
	readyz string              // verbose
	health string              // /healthz, verbose
	err    error
}

// serviceRef is the service of the APIService, else that of the manifests.
func (f *facts) serviceRef() (namespace, service string, port int32) {
	if f.registration != nil && f.registration.Spec.Service != nil {
		s := f.registration.Spec.Service
		port = 443
		if s.Port != nil {
			port = *s.Port
		}
		return s.Namespace, s.Name, port
	}
	return installNamespace, serverName, 443
}

// byCertManager reports that cert-manager issues the server's certificate.
func (f *facts) byCertManager() bool {
	return f.registration != nil && f.registration.Annotations["cert-manager.io/inject-ca-from"] != ""
}

// standalone reports that the kubeconfig is that of kubizone up, by the build metadata of the server's version.
func (f *facts) standalone() bool {
	_, build, _ := strings.Cut(f.version, "+")
	return strings.HasPrefix(build, apiserver.Component+"-")
}

// askPaths reads /readyz and /healthz with get.
func askPaths(from string, get func(path string) ([]byte, error)) answer {
	a := answer{from: from}
	for path, text := range map[string]*string{"readyz": &a.readyz, "healthz": &a.health} {
		said, err := get(path)
		if *text = string(said); !isChecks(*text) && a.err == nil {
			a.err = err
		}
	}
	return a
}

// askServer asks the server of the kubeconfig.
func askServer(ctx context.Context, client kubernetes.Interface) answer {
	return askPaths("the server", func(path string) ([]byte, error) {
		return client.Discovery().RESTClient().Get().AbsPath("/"+path).Param("verbose", "").DoRaw(ctx)
	})
}

func collectFacts(ctx context.Context, client kubernetes.Interface, registrations aggregator.Interface, objects versioned.Interface,
	name string) *facts {
	f := &facts{name: name}
	if info, err := client.Discovery().ServerVersion(); err != nil {
		f.versionErr = err
		return f // no other request would be answered
	} else {
		f.version = info.GitVersion
	}
	if f.standalone() {
		f.answers = []answer{askServer(ctx, client)}
		return f // there is no cluster around it
	}
	f.absent, f.absentErr = listAbsentResources(client)
	f.registration, f.registrationErr = registrations.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
	if f.registrationErr != nil {
		f.registration = nil
	}
	if f.fleet, f.fleetErr = registrations.ApiregistrationV1().APIServices().Get(ctx, fleetAPIService,
		metav1.GetOptions{}); f.fleetErr != nil {
		f.fleet = nil
	}
	namespace, service, _ := f.serviceRef()
	if f.service, f.serviceErr = client.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{}); f.serviceErr != nil {
		f.service = nil
	}
	if list, err := client.DiscoveryV1().EndpointSlices(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}); err != nil {
		f.slicesErr = err
	} else {
		f.slices = list.Items
	}
	selector := labels.Set{"app.kubernetes.io/name": serverName}
	if f.service != nil && len(f.service.Spec.Selector) > 0 {
		selector = f.service.Spec.Selector
	}
	if list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()}); err != nil {
		f.podsErr = err
	} else {
		f.pods = list.Items
	}
	if f.secret, f.secretErr = client.CoreV1().Secrets(namespace).Get(ctx, servingSecret, metav1.GetOptions{}); f.secretErr != nil {
		f.secret = nil
	}
	account := serverName
	if len(f.pods) > 0 && f.pods[0].Spec.ServiceAccountName != "" {
		account = f.pods[0].Spec.ServiceAccountName
	}
	f.account = "system:serviceaccount:" + namespace + ":" + account
	f.refused, f.refusedErr = listRefusedRules(ctx, client, namespace, f.account)
	f.answers = f.askServers(ctx, client)
	if version, group, ok := strings.Cut(name, "."); ok {
		_, f.discovery = client.Discovery().ServerResourcesForGroupVersion(group + "/" + version)
	}
	f.objectsErr = f.collectLeft(ctx, client, objects) // last: to list many Records may take all remaining time
	return f
}

// notInEvery are resources that the server does without where kube-apiserver does not have them, before 1.36.
var notInEvery = []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}

// listAbsentResources lists the resources that the server needs and this cluster does not have: its informers would
// wait forever.
func listAbsentResources(client kubernetes.Interface) ([]string, error) {
	var names []string
	for _, group := range []string{"admissionregistration.k8s.io", "flowcontrol.apiserver.k8s.io"} {
		list, err := client.Discovery().ServerResourcesForGroupVersion(group + "/v1")
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

// listRefusedRules checks every rule, resource and verb for user, and lists those that are denied.
func listRefusedRules(ctx context.Context, client kubernetes.Interface, namespace, user string) ([]Rule, error) {
	var missing []Rule
	for _, rule := range Rules() {
		at := rule.Namespace
		if at == InstallNamespace {
			at = namespace
		}
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, resource := range rule.Resources {
			resource, subresource, _ := strings.Cut(resource, "/")
			var verbs []string
			for _, verb := range rule.Verbs {
				allowed := true
				for _, name := range names {
					review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx,
						&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
							User: user, Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace,
								"system:authenticated"},
							ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: at, Group: rule.APIGroups[0],
								Resource: resource, Subresource: subresource, Name: name, Verb: verb},
						}}, metav1.CreateOptions{})
					if err != nil {
						return nil, err
					}
					allowed = allowed && review.Status.Allowed
				}
				if !allowed {
					verbs = append(verbs, verb)
				}
			}
			if len(verbs) > 0 {
				short := rule
				short.Namespace, short.Verbs = at, verbs
				if short.Resources = []string{resource}; subresource != "" {
					short.Resources[0] += "/" + subresource
				}
				missing = append(missing, short)
			}
		}
	}
	return missing, nil
}

// collectLeft counts the Zones, Delegations and Records of namespaces that are gone. Namespaces are listed last: one
// that is made meanwhile is there.
func (f *facts) collectLeft(ctx context.Context, client kubernetes.Interface, objects versioned.Interface) error {
	api, all := objects.KubizoneV1alpha1(), metav1.ListOptions{}
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

// askServers asks every address of the service, and every pod through kube-apiserver.
func (f *facts) askServers(ctx context.Context, client kubernetes.Interface) []answer {
	var all []answer
	for _, address := range f.serverAddresses() {
		all = append(all, askDirect(ctx, address))
	}
	for _, pod := range f.pods {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		all = append(all, askPaths("pod "+pod.Name, func(path string) ([]byte, error) {
			return client.CoreV1().Pods(pod.Namespace).ProxyGet("https", pod.Name, "https", path, map[string]string{"verbose": ""}).DoRaw(
				ctx)
		}))
	}
	return all
}

// serverAddresses lists HOST:PORT of the service, as kube-apiserver uses them.
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

// isChecks reports that the text is the verbose answer of a health path.
func isChecks(text string) bool { return strings.Contains(text, "[") }

// askDirect asks an address and accepts any certificate: the certificate is what is checked, and no secret is sent.
func askDirect(ctx context.Context, address string) answer {
	a := answer{from: address, direct: true}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext:     (&net.Dialer{Timeout: dialTime}).DialContext,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: 2 * dialTime}
	if a.readyz, a.chain, a.err = getPath(ctx, client, "https://"+address+"/readyz?verbose"); a.err == nil {
		a.health, _, a.err = getPath(ctx, client, "https://"+address+"/healthz?verbose")
	}
	return a
}

func getPath(ctx context.Context, client *http.Client, url string) (said string, chain []*x509.Certificate, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		err = fmt.Errorf("reading %s: %w", request.URL.Path, err)
	}
	return string(text), response.TLS.PeerCertificates, err
}
