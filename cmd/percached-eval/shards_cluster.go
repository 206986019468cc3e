package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/move"
)

// cluster is three daemons behind nginx.
type cluster struct {
	dir        string
	namespaces bool
	log        *os.File
	nodes      []*shardNode
	nginx      *exec.Cmd
	url, token string
	undo       []func() error
}

// shardNode is a daemon at an address that stays.
type shardNode struct {
	*child.Process
	exe, data, address string
}

const shardOp = "percached: shards"

// start starts everything.
func (c *cluster) start(ctx context.Context, router string) (err error) {
	if c.log, err = os.Create(filepath.Join(c.dir, "log")); err != nil {
		return fault.New(fault.Unavailable, shardOp, "%w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fault.New(fault.Unavailable, shardOp, "%w", err)
	}
	if c.namespaces {
		if err := c.bridge(ctx); err != nil {
			return err
		}
	}
	for i := range 3 {
		n := &shardNode{exe: exe, data: filepath.Join(c.dir, fmt.Sprint("node", i+1)), address: fmt.Sprintf("127.0.0.%d", 11+i)}
		c.nodes = append(c.nodes, n)
		if c.namespaces {
			if err := c.namespace(ctx, n, i); err != nil {
				return err
			}
		}
		if n.address, err = freeAddress(ctx, n.address, c.namespaces); err != nil {
			return err
		}
		if err := c.startNode(ctx, n); err != nil {
			return err
		}
	}
	// One token for all nodes, as a deployment distributes it.
	c.token = c.nodes[0].Token
	for _, n := range c.nodes {
		n.Token = c.token
		if err := os.WriteFile(filepath.Join(n.data, "token"), []byte(c.token+"\n"), 0o600); err != nil {
			return fault.New(fault.Unavailable, shardOp, "%w", err)
		}
	}
	return c.startRouter(ctx, router)
}

func (c *cluster) startNode(ctx context.Context, n *shardNode) (err error) {
	n.Process, err = child.Start(ctx, n.exe, n.data, c.log, "--listen", n.address, "--threads", "1")
	return err
}

// freeAddress returns an address with a port that is free. In a namespace of its own every port is.
func freeAddress(ctx context.Context, host string, namespace bool) (string, error) {
	if namespace {
		return host + ":7337", nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", host+":0")
	if err != nil {
		return "", fault.New(fault.Unavailable, shardOp, "%w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// bridge makes the network of the namespaces.
func (c *cluster) bridge(ctx context.Context) error {
	c.undo = append(c.undo, func() error { return command(context.WithoutCancel(ctx), "ip link del percached0") })
	return command(ctx, "ip link add percached0 type bridge", "ip addr add 10.77.0.1/24 dev percached0", "ip link set percached0 up")
}

// namespace gives a node a network namespace of its own, in which its program runs.
func (c *cluster) namespace(ctx context.Context, n *shardNode, i int) error {
	name, link := fmt.Sprint("percached", i+1), fmt.Sprint("pcveth", i+1)
	n.address = fmt.Sprintf("10.77.0.%d", 11+i)
	c.undo = append(c.undo, func() error { return command(context.WithoutCancel(ctx), "ip netns del "+name) })
	if err := command(ctx, "ip netns add "+name, "ip link add "+link+" type veth peer name eth0 netns "+name,
		"ip link set "+link+" master percached0 up", "ip netns exec "+name+" ip addr add "+n.address+"/24 dev eth0",
		"ip netns exec "+name+" ip link set eth0 up", "ip netns exec "+name+" ip link set lo up"); err != nil {
		return err
	}
	script := "#!/bin/sh\nexport PERCACHED_INSECURE_LISTEN=true\nexec ip netns exec " + name + " '" + n.exe + "' \"$@\"\n"
	n.exe = filepath.Join(c.dir, name)
	return os.WriteFile(n.exe, []byte(script), 0o700)
}

// command runs commands, one after the other.
func command(ctx context.Context, lines ...string) error {
	for _, line := range lines {
		words := strings.Fields(line)
		if out, err := exec.CommandContext(ctx, words[0], words[1:]...).CombinedOutput(); err != nil {
			return fault.New(fault.Unavailable, shardOp, "%s: %w: %s", line, err, out)
		}
	}
	return nil
}

// startRouter starts nginx with the shipped configuration and the nodes of this cluster.
func (c *cluster) startRouter(ctx context.Context, router string) error {
	shipped, err := os.ReadFile(filepath.Join(router, "percached.conf"))
	if err != nil {
		return fault.New(fault.NotFound, shardOp, "cannot read the configuration of nginx: %w; pass --router", err)
	}
	at, err := freeAddress(ctx, "127.0.0.1", false)
	if err != nil {
		return err
	}
	c.url = "http://" + at
	server := strings.Replace(string(shipped), "listen 8080;", "listen "+at+";", 1)
	var hashed, groups, moved strings.Builder
	for i, n := range c.nodes {
		fmt.Fprintf(&hashed, "server %s max_fails=0;\n", n.address)
		fmt.Fprintf(&groups, "upstream percached_node_%d { server %s max_fails=0; keepalive 16; keepalive_timeout 30s; }\n", i+1, n.address)
		fmt.Fprintf(&moved, "~^http://%s/ percached_node_%d;\n", strings.ReplaceAll(n.address, ".", `\.`), i+1)
	}
	nodes := "upstream percached_nodes { hash $percached_shard consistent;\n" + hashed.String() + "keepalive 64; keepalive_timeout 30s; }\n" +
		"map $percached_shard $percached_group { default percached_nodes; }\n" +
		groups.String() + "map $upstream_http_location $percached_moved_node { default \"\";\n" + moved.String() + "}\n"
	// Nodes know the address that they listen on, not that of the router.
	server = strings.Replace(server, "proxy_set_header Host $host;", "proxy_set_header Host localhost;", 1)
	conf := filepath.Join(c.dir, "nginx.conf")
	text := "daemon off;\npid " + c.dir + "/nginx.pid;\nerror_log stderr warn;\nevents { worker_connections 4096; }\nhttp {\naccess_log off;\n" +
		"client_body_temp_path " + c.dir + "/body;\nproxy_temp_path " + c.dir + "/proxy;\n" + nodes + server + "}\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return fault.New(fault.Unavailable, shardOp, "%w", err)
	}
	if os.Getuid() == 0 {
		// nginx's workers run as another user and use these folders.
		if err := os.Chmod(c.dir, 0o711); err != nil { //nolint:gosec // it has folders of the daemons, which are private
			return fault.New(fault.Unavailable, shardOp, "%w", err)
		}
	}
	program, ok := nginxProgram()
	if !ok {
		return fault.New(fault.NotFound, shardOp, "nginx is not installed (apt-get install nginx-light)")
	}
	c.nginx = exec.CommandContext(ctx, program, "-e", "stderr", "-c", conf)
	c.nginx.Stderr = c.log
	if err := c.nginx.Start(); err != nil {
		return fault.New(fault.Unavailable, shardOp, "cannot start nginx: %w", err)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for range 500 {
		if got, err := http.Get(c.url + "/healthz"); err == nil {
			got.Body.Close()
			return nil
		}
		<-again.C
	}
	return fault.New(fault.Unavailable, shardOp, "nginx does not answer")
}

// nginxProgram finds nginx, which is often in a folder that only root searches.
func nginxProgram() (string, bool) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, true
		}
	}
	return "", false
}

// restart stops a node, by a signal or as a crash would, and starts it again.
func (c *cluster) restart(ctx context.Context, i int, crash bool) error {
	n := c.nodes[i]
	if crash {
		_ = n.Kill() // it says that the process was killed
	} else if err := n.Stop(); err != nil {
		return err
	}
	return c.startNode(ctx, n)
}

// link is the link to a node.
func (n *shardNode) link() (*link.Link, error) {
	return link.Remote(link.Target{URL: n.URL, Secret: n.Token, PlainHTTP: true})
}

// home finds the node that has a space.
func (c *cluster) home(ctx context.Context, space string) (int, error) {
	for i, n := range c.nodes {
		l, err := n.link()
		if err != nil {
			return 0, err
		}
		_, err = l.GetSpaceWithResponse(ctx, space)
		l.Close() //nolint:errcheck // it was only a connection
		if err == nil {
			return i, nil
		}
		if fault.KindOf(err) == fault.Timeout {
			return 0, err
		}
	}
	return 0, fault.New(fault.NotFound, shardOp, "no node has the space %s", space)
}

// move moves a space to the next node.
func (c *cluster) move(ctx context.Context, space string) error {
	i, err := c.home(ctx, space)
	if err != nil {
		return err
	}
	from, err := c.nodes[i].link()
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only a connection
	to, err := c.nodes[(i+1)%len(c.nodes)].link()
	if err != nil {
		return err
	}
	defer to.Close() //nolint:errcheck // it was only a connection
	_, err = (&move.Move{From: from, To: to, Space: space, Redirect: to.Daemon, Stderr: io.Discard}).Run(ctx)
	return err
}

// close stops everything.
func (c *cluster) close() error {
	var errs []error
	if c.nginx != nil && c.nginx.Process != nil {
		_ = c.nginx.Process.Signal(os.Interrupt)
		_ = c.nginx.Wait()
	}
	for _, n := range c.nodes {
		if n.Process != nil && n.Cmd.ProcessState == nil {
			errs = append(errs, n.Stop())
		}
	}
	for _, undo := range c.undo {
		errs = append(errs, undo())
	}
	if c.log != nil {
		errs = append(errs, c.log.Close())
	}
	return errors.Join(errs...)
}

// through returns a client of the cluster.
func (c *cluster) through(transport http.RoundTripper) (*client.ClientWithResponses, error) {
	return client.NewClientWithResponses(c.url, client.WithToken(c.token), client.WithHTTPClient(&http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}))
}
