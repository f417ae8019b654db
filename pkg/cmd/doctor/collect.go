// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	groups "kubi.zone/kubizone/pkg/cmd/cluster"
	"kubi.zone/kubizone/pkg/cmd/status"
	"kubi.zone/kubizone/pkg/version"
)

const (
	answerTime = 4500 * time.Millisecond

	// Names in the manifests, used without an APIService.
	installNamespace = "kubizone-system"
	serverName       = "kubizone-apiserver"

	servingSecret    = "kubizone-apiserver-serving"
	peerSecret       = "kubizone-etcd-peer"
	etcdClientSecret = "kubizone-etcd-client"
	// authenticationConfig has kube-apiserver's authorities for client certificates.
	authenticationConfig = "extension-apiserver-authentication"

	groupName              = "kubi.zone"
	partOfLabel, partOf    = "app.kubernetes.io/part-of", "kubizone"
	releaseAnnotation      = "meta.helm.sh/release-name"
	injectAnnotation       = "cert-manager.io/inject-ca-from"
	mainAPI, nameServerAPI = "v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone"
)

// requiredAPIs are those of every installation. The first has Service and caBundle.
var requiredAPIs = []string{mainAPI, nameServerAPI}

type facts struct {
	version    string
	versionErr error

	registrations    []apiregistrationv1.APIService // mainAPI first
	registrationsErr error
	service          *corev1.Service
	slices           []discoveryv1.EndpointSlice
	pods             []corev1.Pod
	podsErr          error
	secrets          map[string]*corev1.Secret
	secretErr        error // of servingSecret
	authorities      *corev1.ConfigMap

	instances    []bind9.Bind9Instance
	instancesErr error
	overview     *status.Overview
	deliveries   []v1alpha1.Delivery // of the oldest zone of each reason
	deployments  []deployment        // nil if unknown

	answers    []answer
	clockSkews map[string]time.Duration // clocks relative to this machine
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
	if of := f.registration(mainAPI); of != nil && of.Spec.Service != nil {
		return of.Spec.Service.Namespace, of.Spec.Service.Name, ptr.Deref(of.Spec.Service.Port, 443)
	}
	return installNamespace, serverName, 443
}

func (f *facts) byCertManager() bool {
	of := f.registration(mainAPI)
	return of != nil && of.Annotations[injectAnnotation] != ""
}

func (f *facts) standalone() bool {
	_, build, _ := strings.Cut(f.version, "+")
	return strings.HasPrefix(build, version.Component+"-")
}

type collector struct {
	core    groups.Interface
	objects versioned.Interface
	clocks  *clocks
	within  time.Duration
}

func newCollector(config *rest.Config) (c *collector, err error) {
	c = &collector{clocks: newClocks(), within: answerTime}
	config.Wrap(c.clocks.watch)
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	if c.core, err = groups.NewForConfig(config); err != nil {
		return nil, err
	}
	c.objects, err = versioned.NewForConfig(config)
	return c, err
}

func (c *collector) collectFacts(ctx context.Context) *facts {
	ctx, cancel := context.WithTimeout(ctx, c.within)
	defer cancel()
	f := &facts{}
	var all sync.WaitGroup
	all.Go(func() {
		f.overview = status.ReadAll(ctx, c.objects, c.core)
		f.deliveries = c.readDeliveries(ctx, f.overview.NotCurrent)
	})
	all.Go(func() {
		list, err := c.objects.Bind9V1alpha1().Bind9Instances(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if f.instancesErr = err; err == nil {
			f.instances = list.Items
		}
	})
	all.Go(func() {
		found, err := c.core.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfig, metav1.GetOptions{})
		if err == nil {
			f.authorities = found
		}
	})
	info, err := discovery.ToDiscoveryInterfaceWithContext(c.core.Discovery()).ServerVersionWithContext(ctx)
	if f.versionErr = err; err != nil {
		cancel() // other requests would fail, too
		all.Wait()
		return f
	}
	f.version = info.GitVersion
	if !f.standalone() {
		c.collectServers(ctx, f)
	}
	all.Wait()
	f.clockSkews = c.clocks.list()
	return f
}

// listAPIServices does without kube-aggregator's clientset, half a megabyte of program.
func (c *collector) listAPIServices(ctx context.Context) (list apiregistrationv1.APIServiceList, err error) {
	data, err := c.core.CoreV1().RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

func (c *collector) collectServers(ctx context.Context, f *facts) {
	list, err := c.listAPIServices(ctx)
	if f.registrationsErr = err; err == nil {
		for _, one := range list.Items {
			switch {
			case one.Name == mainAPI:
				f.registrations = slices.Insert(f.registrations, 0, one)
			case one.Labels[partOfLabel] == partOf, strings.HasSuffix(one.Spec.Group, "."+groupName):
				f.registrations = append(f.registrations, one)
			}
		}
	}
	namespace, name, port := f.serviceRef()
	probes := newProber(c.core, c.clocks)
	var all sync.WaitGroup
	all.Go(func() { c.collectSecrets(ctx, f, namespace) })
	all.Go(func() { f.deployments = c.listDeployments(ctx, namespace) })
	all.Go(func() {
		service, err := c.core.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return
		}
		if f.service = service; f.hasExternalName() {
			probes.askAddress(ctx, service.Spec.ExternalName, port)
		}
	})
	all.Go(func() {
		selector := labels.Set{"app.kubernetes.io/name": serverName}.String()
		list, err := c.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if f.podsErr = err; err != nil {
			return
		}
		f.pods = list.Items
		for i := range f.pods {
			probes.askPod(ctx, &f.pods[i])
		}
	})
	all.Go(func() {
		list, err := c.core.DiscoveryV1().EndpointSlices(namespace).List(ctx,
			metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name})
		if err != nil {
			return
		}
		f.slices = list.Items
		for _, slice := range f.slices {
			for _, endpoint := range slice.Endpoints {
				for _, at := range slice.Ports {
					if len(endpoint.Addresses) > 0 && at.Port != nil {
						probes.askAddress(ctx, endpoint.Addresses[0], *at.Port)
					}
				}
			}
		}
	})
	all.Wait()
	f.answers = probes.wait()
}

func (c *collector) collectSecrets(ctx context.Context, f *facts, namespace string) {
	f.secrets = map[string]*corev1.Secret{}
	var mu sync.Mutex // of f.secrets
	var all sync.WaitGroup
	for _, name := range []string{servingSecret, peerSecret, etcdClientSecret} {
		all.Go(func() {
			secret, err := c.core.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				f.secrets[name] = secret
			} else if name == servingSecret && !apierrors.IsNotFound(err) {
				f.secretErr = err
			}
		})
	}
	all.Wait()
}

func (f *facts) hasExternalName() bool {
	return f.service != nil && f.service.Spec.Type == corev1.ServiceTypeExternalName
}

func (c *collector) readDeliveries(ctx context.Context, notCurrent []status.Item) (all []v1alpha1.Delivery) {
	read := map[string]bool{}
	for i := range notCurrent {
		one := &notCurrent[i]
		if read[one.Reason] {
			continue
		}
		read[one.Reason] = true
		list, err := c.objects.KubizoneV1alpha1().Deliveries(one.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryZoneName, one.Name).String()})
		if err == nil { // else the message of the Zone is all
			all = append(all, list.Items...)
		}
	}
	return all
}

// deployment keeps the API group apps out of the program.
type deployment struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32 `json:"replicas"`
	} `json:"spec"`
}

func (c *collector) listDeployments(ctx context.Context, namespace string) []deployment {
	var list struct {
		Items []deployment `json:"items"`
	}
	data, err := c.core.CoreV1().RESTClient().Get().AbsPath("/apis/apps/v1/namespaces/"+namespace+"/deployments").
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil || json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list.Items
}
