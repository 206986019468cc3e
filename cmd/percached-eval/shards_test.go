package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// Behind the shipped router, no accepted document is lost and none appears in another space,
// while a node is killed, a space moves and all nodes restart.
func TestShards(t *testing.T) {
	if _, ok := nginxProgram(); !ok {
		if os.Getenv("CI") != "" {
			t.Fatal("nginx is not installed")
		}
		t.Skip("nginx is not installed: apt-get install nginx-light")
	}
	var out, errs bytes.Buffer
	args := []string{"shards", "--spaces", "12", "--asked", "4", "--clients", "2", "--seconds", "1", "--router", "../../packaging/nginx", "--json"}
	if err := run(t.Context(), args, strings.NewReader(""), &out, &errs); err != nil {
		t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
	}
	var r shardReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds) != 4 || r.Accepted < 12 || r.ByNode[0]+r.ByNode[1]+r.ByNode[2] != 12 {
		t.Errorf("%+v", r)
	}
	for _, wrong := range [][]string{{"--spaces", "0"}, {"--asked", "9", "--spaces", "3"}, {"--seconds", "-1"}} {
		if err := run(t.Context(), append([]string{"shards"}, wrong...), strings.NewReader(""), &out, &errs); !commands.Misused(err) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// A loss, a wrong document or a wrong response makes the trial fail.
func TestShardVerdict(t *testing.T) {
	if err := (&shardReport{Accepted: 3, Rounds: []shardRound{{Retried: 4}}}).verdict(); err != nil {
		t.Error(err)
	}
	for _, r := range []shardReport{{Lost: 1}, {Wrong: 1}, {Elsewhere: 1}, {Rounds: []shardRound{{Wrong: 1}}}} {
		if r.verdict() == nil {
			t.Errorf("%+v is well", r)
		}
	}
}

// Each node of the Kubernetes manifests is in the router's list: hashed, as a group of its own,
// and as a target of moves.
func TestKubernetesNodes(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join("../../packaging", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	manifest, conf, server := read("kubernetes/nodes.yaml"), read("kubernetes/percached-nodes.conf"), read("nginx/percached.conf")
	const nodes = 3
	if !strings.Contains(manifest, fmt.Sprintf("replicas: %d\n", nodes)) {
		t.Errorf("the manifest has not %d nodes", nodes)
	}
	for i := range nodes {
		pod := fmt.Sprint("percached-", i)
		for _, part := range []string{"\n  name: " + pod + "\n", "pod-name: " + pod + "}"} {
			if strings.Count(manifest, part) != 1 {
				t.Errorf("%q is in the manifest %d times", part, strings.Count(manifest, part))
			}
		}
		for _, part := range []string{
			"\tserver " + pod + ":7337 max_fails=0;\n", fmt.Sprintf("upstream percached_node_%d { server %s:7337", i, pod),
			fmt.Sprintf("~^http://%s:7337/ percached_node_%d;", pod, i),
		} {
			if strings.Count(conf, part) != 1 {
				t.Errorf("%q is in the list of nodes %d times", part, strings.Count(conf, part))
			}
		}
	}
	if strings.Count(manifest, "statefulset.kubernetes.io/pod-name") != nodes || strings.Count(conf, "max_fails=0") != 2*nodes {
		t.Error("there are other nodes")
	}
	for _, name := range []string{"$percached_shard", "$percached_moved_node", "$percached_group"} {
		if !strings.Contains(conf, name) || !strings.Contains(server, name) || !strings.Contains(read("nginx/percached-nodes.conf"), name) {
			t.Errorf("a file lacks %s", name)
		}
	}
}
