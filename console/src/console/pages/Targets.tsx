export default function Targets() { return null; }
