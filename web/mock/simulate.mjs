// A made-up system: images go from /camera to /actuator, a map server sits in the planner's thread, names are hostile.

const period = 10e6;

/** Numbers from 0 to 1 that are the same in each run. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

export const processes = [[4100, "camera_container"], [4200, "perception"], [4300, "control"]].map(([pid, name], id) => ({ id, pid, name, host: "robot" }));
export const threads = [[0, 4100], [0, 4101], [1, 4200], [1, 4201], [2, 4300]].map(([process, tid], id) => ({ id, process, tid, name: null }));
export const nodes = [["/camera", 0], ["/lidar", 0], ["/rectifier", 1], ["/detector", 1], ["/fusion", 1], ["/planner", 2], ["/controller", 2], ["/actuator", 2], ["/map_server", 2],
  ["/<script>alert('\u202eeman')</script>\u001b[31m", 1], ["/perception/launch_ros_4242", 1]].map(([name, process], id) => ({ id, name, process, standard: id === 10 }));
const topicNames = ["/image", "/points", "/rectified", "/objects", "/scene", "/plan", "/control", "/debug/<img src=x onerror=alert(1)>"];
export const topics = topicNames.map((name, id) => ({ id, name, type: "sensor_msgs/msg/Image" }));

// node, thread, the topic received (null: a timer), the topic published, and how long it takes
const stages = [
  { node: 0, thread: 0, receives: null, sends: 0, takes: 0.4e6 }, { node: 2, thread: 2, receives: 0, sends: 2, takes: 1e6 },
  { node: 3, thread: 3, receives: 2, sends: 3, takes: 2.2e6 }, { node: 4, thread: 2, receives: 3, sends: 4, takes: 0.8e6 },
  { node: 5, thread: 4, receives: 4, sends: 5, takes: 1e6 }, { node: 6, thread: 4, receives: 5, sends: 6, takes: 0.3e6 },
  { node: 7, thread: 4, receives: 6, sends: null, takes: 0.1e6 },
];
const lidar = { node: 1, thread: 1, receives: null, sends: 1, takes: 0.7e6 };
const points = { node: 4, thread: 2, receives: 1, sends: null, takes: 0.5e6 };
const debug = { node: 9, thread: 3, receives: 2, sends: 7, takes: 0.05e6 };
const map = { node: 8, thread: 4, receives: null, sends: null, takes: 84e6, period: 1e9 };
const nested = { node: 8, thread: 4, receives: null, sends: null, takes: 20e6, service: true };
const all = [...stages, lidar, points, debug, map, nested];

export const callbacks = all.map(({ node, receives, period: own, service }, id) => ({
  id, name: `${nodes[node].name}/callback_${service ? 1 : 0}`, node,
  kind: service ? "service" : receives === null ? "timer" : "subscription",
  topic: receives, service: service ? `${nodes[node].name}/get_map` : null, period: service || receives !== null ? null : own ?? (node === 1 ? 2 * period : period),
  symbol: `${nodes[node].name.slice(1, 20)}::on_event(std::shared_ptr<sensor_msgs::msg::Image const>)`, standard: false,
}));
export const pathNodes = stages.map(({ node }) => node);
export const pathTopics = stages.flatMap(({ sends }) => (sends === null ? [] : [sends]));
export const publisherOf = new Map(all.filter(({ sends }) => sends !== null).map((stage) => [stage.sends, stage]));

/** What happened: executions and messages by their begin, publishes by time, and the ways of images. */
export function simulate(rounds) {
  const random = randomNumbers(7);
  const free = threads.map(() => 0);
  const executions = [];
  const publishes = [];
  const messages = [];
  const ways = [];

  function run(stage, ready, depth = 0) {
    const begin = Math.round(Math.max(ready, free[stage.thread]));
    const end = begin + Math.round(stage.takes * (0.8 + 0.4 * random() + (random() < 0.004 ? 3 : 0)));
    if (depth === 0) free[stage.thread] = end;
    executions.push({ thread: stage.thread, callback: all.indexOf(stage), begin, end, depth, status: "complete" });
    return { begin, end };
  }

  function send(stage, at) {
    publishes.push({ thread: stage.thread, topic: stage.sends, t: at });
    return at + Math.round(4e4 + 6e4 * random());
  }

  function receive(from, to, published, ready) {
    const ran = run(to, ready);
    messages.push({ topic: from.sends, publisher: from.node, subscriber: to.node, fromThread: from.thread, fromTime: published, toThread: to.thread, toTime: ran.begin });
    return ran;
  }

  for (let round = 0; round < rounds; round++) {
    const begin = round * period + Math.round(random() * 2e5);
    if (round % 100 === 50) {
      const ran = run(map, begin);
      run(nested, ran.begin + 1e7, 1);
    }
    if (round % 2 === 0) {
      const ran = run(lidar, begin + 1e6);
      const published = ran.end - 1e4;
      receive(lidar, points, published, send(lidar, published));
    }
    const times = [];
    let fate = "received";
    let ran = run(stages[0], begin);
    for (let i = 0; i + 1 < stages.length; i++) {
      const published = ran.end - Math.round(5e3 + 5e3 * random());
      const ready = send(stages[i], published);
      times.push(published);
      if (random() < 0.0006) {
        fate = "lost";
        break;
      }
      ran = receive(stages[i], stages[i + 1], published, ready);
      times.push(ran.begin);
      if (i === 1 && round % 10 === 0) receive({ ...stages[1], sends: 2 }, debug, published, ready);
    }
    ways.push({ times, fate });
  }
  const open = executions.at(-1);
  open.end = null;
  open.status = "recording_end";
  Object.assign(executions[Math.floor(executions.length / 2)], { end: null, status: "unwound" });
  executions.sort((a, b) => a.begin - b.begin);
  publishes.sort((a, b) => a.t - b.t);
  return { duration: rounds * period, executions, publishes, messages, ways };
}
