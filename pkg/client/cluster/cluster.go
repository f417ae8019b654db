// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"k8s.io/client-go/discovery"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	eventsv1 "k8s.io/client-go/kubernetes/typed/events/v1"
	rbacv1 "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"
)

// Interface is the part of kubernetes.Interface that the client's commands use.
type Interface interface {
	Discovery() discovery.DiscoveryInterfaces
	CoreV1() corev1.CoreV1Interface
	EventsV1() eventsv1.EventsV1Interface
	RbacV1() rbacv1.RbacV1Interface
}

type clientset struct {
	discovery *discovery.DiscoveryClient
	core      *corev1.CoreV1Client
	events    *eventsv1.EventsV1Client
	rbac      *rbacv1.RbacV1Client
}

// NewForConfig returns clients that share connections, but not a rate limit.
func NewForConfig(config *rest.Config) (Interface, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	c := &clientset{}
	var errs [4]error
	c.discovery, errs[0] = discovery.NewDiscoveryClientForConfigAndClient(config, shared)
	c.core, errs[1] = corev1.NewForConfigAndClient(config, shared)
	c.events, errs[2] = eventsv1.NewForConfigAndClient(config, shared)
	c.rbac, errs[3] = rbacv1.NewForConfigAndClient(config, shared)
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("kubeconfig: %w", err)
		}
	}
	return c, nil
}

func (c *clientset) Discovery() discovery.DiscoveryInterfaces { return c.discovery }
func (c *clientset) CoreV1() corev1.CoreV1Interface           { return c.core }
func (c *clientset) EventsV1() eventsv1.EventsV1Interface     { return c.events }
func (c *clientset) RbacV1() rbacv1.RbacV1Interface           { return c.rbac }
