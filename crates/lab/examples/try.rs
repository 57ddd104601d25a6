use lab::*;
use std::ops::ControlFlow;
fn main() {
    let mut layers = Vec::new();
    for arg in std::env::args().skip(1) {
        if let Some(d) = arg.strip_prefix("device:") { layers.push(preset_layer("device", d).unwrap()); }
        else if let Some(d) = arg.strip_prefix("workload:") { layers.push(preset_layer("workload", d).unwrap()); }
        else if let Some(t) = arg.strip_prefix("trace:") { layers.push(Layer::new("--trace", format!("workload.kind='trace'\nworkload.path='{t}'"))); }
        else if arg.ends_with(".toml") { layers.push(Layer::new(arg.clone(), std::fs::read_to_string(&arg).unwrap())); }
        else { layers.push(set_layer(&arg).unwrap_or_else(|e| { eprintln!("{e}"); std::process::exit(2) })); }
    }
    let e = Experiment::from_layers(&layers).unwrap_or_else(|e| { eprintln!("{e}"); std::process::exit(2) });
    let r = run(&e, &RunSettings { check: true }, &mut |_| ControlFlow::Continue(())).unwrap_or_else(|e| { eprintln!("{e}"); std::process::exit(1) });
    let v: serde_json::Value = serde_json::from_str(&r).unwrap();
    let all = &v["host"]["all"];
    let f = |x: &serde_json::Value| x.as_f64().unwrap_or(f64::NAN);
    println!("n {} mean {:.3} dev {:.3} std {:.3} max {:.1} iops {:.0} | cleans {} moved {} wa {} eff {} | wall {:.2} req/s {:.0} pageops/s {:.0}", all["requests"], f(&all["mean_us"]), f(&all["mean_us"]) - f(&all["breakdown_us"]["host_queue"]), f(&all["std_us"]), f(&all["max_us"]), f(&all["iops"]), v["flash"]["block_erases"], v["flash"]["pages_moved"], v["flash"]["write_amplification"], v["flash"]["cleaning"]["efficiency"], f(&v["elapsed"]["wall_seconds"]), f(&v["elapsed"]["requests_per_second"]), f(&v["elapsed"]["page_operations_per_second"]));
}
