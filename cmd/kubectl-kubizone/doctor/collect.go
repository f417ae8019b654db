// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	groups "kubi.zone/kubizone/pkg/client/cluster"
	"kubi.zone/kubizone/pkg/client/overview"
	"kubi.zone/kubizone/pkg/kit/version"
)

const (
	answerTime = 4500 * time.Millisecond

	// Names in the manifests, used without an APIService.
	installNamespace = "kubizone-system"
	serverName       = "kubizone-apiserver"

	servingSecret    = "kubizone-apiserver-serving"
	peerSecret       = "kubizone-etcd-peer"
	etcdClientSecret = "kubizone-etcd-client"

	groupName              = "kubi.zone"
	partOfLabel, partOf    = "app.kubernetes.io/part-of", "kubizone"
	releaseAnnotation      = "meta.helm.sh/release-name"
	injectAnnotation       = "cert-manager.io/inject-ca-from"
	mainAPI, nameServerAPI = "v1alpha1.kubi.zone", "v1alpha1.bind9.kubi.zone"
)

// requiredAPIs are registered in every installation. The first names the Service.
var requiredAPIs = []string{mainAPI, nameServerAPI}

type facts struct {
	version    string
	versionErr error

	registrations    []apiregistrationv1.APIService // mainAPI first
	registrationsErr error
	podsErr          error
	secrets          map[string]*corev1.Secret
	secretErr        error // of servingSecret

	instances    []bind9.Bind9Instance
	instancesErr error
	overview     *overview.Overview

	answers    []answer                 // of the servers
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
	http    *http.Client // of kube-apiserver
}

func newCollector(config *rest.Config) (c *collector, err error) {
	c = &collector{}
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	if c.core, err = groups.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.objects, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	c.http, err = rest.HTTPClientFor(config)
	return c, err
}

// collectFacts sends all requests side by side, and returns within answerTime with the facts read until then. Each
// goroutine writes its own fields.
func (c *collector) collectFacts(ctx context.Context) *facts {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	f := &facts{clockSkews: map[string]time.Duration{}}
	var all sync.WaitGroup
	all.Go(func() { f.overview = overview.ReadAll(ctx, c.objects, c.core) })
	all.Go(func() {
		list, err := c.objects.Bind9V1alpha1().Bind9Instances(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if f.instancesErr = err; err == nil {
			f.instances = list.Items
		}
	})
	kube := c.readVersion(ctx, f)
	if f.versionErr != nil {
		cancel() // other requests would fail, too
		all.Wait()
		return f
	}
	// kubizone up has neither APIServices nor pods.
	if !f.standalone() {
		c.collectServers(ctx, f)
	}
	all.Wait()
	for _, a := range append(f.answers, kube) {
		if a.clockSkew != nil {
			f.clockSkews[a.from] = *a.clockSkew
		}
	}
	return f
}

// readVersion sets the version of kube-apiserver, or versionErr. The answer has its clock.
func (c *collector) readVersion(ctx context.Context, f *facts) answer {
	url := c.core.CoreV1().RESTClient().Get().AbsPath("/version").URL()
	body, response, skew, err := getPage(ctx, c.http, url.String())
	var info struct{ GitVersion string }
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %s", response.Status)
	}
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	f.version, f.versionErr = info.GitVersion, err
	return answer{from: kubeAPIServer, clockSkew: skew}
}

// listAPIServices avoids kube-aggregator's clientset, which adds half a megabyte to the program.
func (c *collector) listAPIServices(ctx context.Context) (list apiregistrationv1.APIServiceList, err error) {
	data, err := c.core.CoreV1().RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// collectServers reads APIServices, then at the same time the Secrets, the pods and a server outside of the cluster.
func (c *collector) collectServers(ctx context.Context, f *facts) {
	list, err := c.listAPIServices(ctx)
	if f.registrationsErr = err; err == nil {
		for _, one := range list.Items {
			switch {
			case one.Name == mainAPI:
				// mainAPI comes first: a fault of all APIServices is reported for mainAPI.
				f.registrations = slices.Insert(f.registrations, 0, one)
			case one.Labels[partOfLabel] == partOf, strings.HasSuffix(one.Spec.Group, "."+groupName):
				f.registrations = append(f.registrations, one)
			}
		}
	}
	namespace, name, port := f.serviceRef()
	var all sync.WaitGroup
	all.Go(func() { c.collectSecrets(ctx, f, namespace) })
	var direct, proxied []answer
	all.Go(func() { // a server outside of the cluster
		service, err := c.core.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && service.Spec.Type == corev1.ServiceTypeExternalName {
			direct = append(direct, askDirect(ctx, net.JoinHostPort(service.Spec.ExternalName, strconv.Itoa(int(port)))))
		}
	})
	all.Go(func() {
		selector := labels.Set{"app.kubernetes.io/name": serverName}.String()
		list, err := c.core.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if f.podsErr = err; err != nil {
			return
		}
		proxied = make([]answer, len(list.Items))
		var asking sync.WaitGroup
		for i := range list.Items {
			asking.Go(func() { proxied[i] = c.askPod(ctx, &list.Items[i]) })
		}
		asking.Wait()
	})
	// Until here, each of direct and proxied belongs to a goroutine.
	all.Wait()
	f.answers = append(direct, proxied...)
}

func (c *collector) collectSecrets(ctx context.Context, f *facts, namespace string) {
	f.secrets = map[string]*corev1.Secret{}
	for _, name := range []string{servingSecret, peerSecret, etcdClientSecret} {
		secret, err := c.core.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			f.secrets[name] = secret
		} else if name == servingSecret && !apierrors.IsNotFound(err) {
			f.secretErr = err
		}
	}
}
